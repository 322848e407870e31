"""Open rows with the answers of operators to decided rows, and to the conditions that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.evaluate import Background, Candidate, Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.match.answer_limit import AnswerLimit
from triplecast.model.answers import GroundCall
from triplecast.model.match import MatchStats, Undecided
from triplecast.model.open_rows import EVALUATED, OpenRows
from triplecast.model.publication import Publication
from triplecast.residual import NumberedTerms, PublicationConditions, ResidualPlans, Verdict, solve_pair
from triplecast.taxonomy import Taxonomies


class Resolved(NamedTuple):
    """What became of open rows."""

    undecided: list[Undecided]
    open: OpenRows
    """Those that wait still."""
    conditions: Mapping[int, PublicationConditions]
    """By position, what these wait for."""
    stats: MatchStats
    upto: int
    """Publications that this is of (index into the batch): not all where their answers take too much together."""


class Resolution:
    """Decides pairs as far as the answers (by position) allow. Each pair starts from all its join rows, with a fresh
    budget. `publications` are those of the pairs, by position, maybe among others; results name them by their place."""

    def __init__(
        self,
        open_rows: OpenRows,
        answers: Mapping[int, Answers],
        publications: Sequence[Publication],
        taxonomies: Taxonomies,
        plans: ResidualPlans,
        limit: AnswerLimit,
        in_pieces: bool = False,
    ) -> None:
        """Add matches to `limit`. `in_pieces`: the evaluator's later publications may be left to another batch."""
        self._open = open_rows
        self._answers = answers
        self._publications = publications
        self._places: dict[int, int] = {each.position: place for place, each in enumerate(publications)}
        assert len(self._places) == len(publications), "open rows name publications by position: each needs its own"
        self._taxonomies = taxonomies
        self._plans = plans
        self._terms = NumberedTerms(open_rows.terms)
        self._conditions: dict[int, PublicationConditions] = {}
        self._limit = limit
        self._in_pieces = in_pieces
        self._matches = 0
        self._upto = len(publications)
        self._undecided: list[Undecided] = []
        self._waiting: list[int] = []

    def decide(self, evaluator: Evaluator) -> Resolved:
        self._solve_joined()
        operated = self._matches
        self._evaluate(evaluator)
        verified = self._matches - operated
        stats = MatchStats(
            verified=verified, matches=operated + verified, undecided=len(self._undecided), operated=operated
        )
        left = self._needed(sorted(self._waiting))
        return Resolved(self._undecided, left, self._conditions, stats, self._upto)

    def _solve_joined(self) -> None:
        """The pairs whose join rows are there. Those that are alike are solved once."""
        known: dict[tuple[int, int, int], Verdict] = {}
        joined = set(self._open.query[self._open.table != EVALUATED].tolist())
        plans = {query: self._plans.of(self._open.queries[query]) for query in joined}
        columns = (self._open.position, self._open.registration, self._open.query, self._open.table)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for pair, (position, registration, query, table) in enumerate(rows):
            if table == EVALUATED:
                continue
            plan = plans[query]
            if isinstance(plan, str):
                self._note(pair, position, registration, Verdict(undecided=plan))
                continue
            conditions = self._of(position)
            key = position, id(plan), table
            verdict = known.get(key)
            if verdict is None:
                branches = {branch: self._open.rows[number] for branch, number in self._open.tables[table]}
                verdict = known[key] = solve_pair(plan, branches, conditions)
            for group in verdict.waiting:
                for rank, members in enumerate(group):
                    conditions.add_row(pair, registration, rank, members)
            self._note(pair, position, registration, verdict)

    def _evaluate(self, evaluator: Evaluator) -> None:
        """The pairs that only the evaluator decides."""
        pairs = np.flatnonzero(self._open.table == EVALUATED).tolist()
        if not pairs:
            return
        backgrounds: dict[tuple[int, int], Background] = {}
        candidates: list[Candidate] = []
        for pair in pairs:
            position, query = int(self._open.position[pair]), self._open.queries[self._open.query[pair]]
            taxonomy, entailment = self._taxonomies.before(position), query.mode.entailment
            background = backgrounds.get((entailment, id(taxonomy)))
            if background is None:
                background = backgrounds[entailment, id(taxonomy)] = Background.of(entailment, taxonomy)
            publication = self._publications[self._places[position]]
            registration = int(self._open.registration[pair])
            answers = self._of(position).answers
            candidates.append(Candidate(publication, registration, query.text, query.language, background, answers))
        left = Counter(self._places[each.publication.position] for each in candidates)
        for number, decision in evaluator.decide(candidates, self._plans.operators):
            pair, candidate = pairs[number], candidates[number]
            position = candidate.publication.position
            place = self._places[position]
            left[place] -= 1
            if self._in_pieces and place and self._limit.bytes > self._limit.limit:
                self._upto = min(self._upto, place)
            if place >= self._upto:
                if not any(left[each] for each in range(self._upto)):
                    return
                continue
            self._of(position).wait_evaluated(pair, candidate.registration, decision.wanted)
            waiting = ((),) if decision.wanted else ()
            bindings = decision.bindings if decision.matched else None
            self._note(pair, position, candidate.registration, Verdict(bindings, decision.undecided, waiting))

    def _note(self, pair: int, position: int, registration: int, verdict: Verdict) -> None:
        if verdict.waiting:
            self._waiting.append(pair)
        elif verdict.undecided is not None:
            self._undecided.append(Undecided(self._places[position], registration, verdict.undecided))
        elif verdict.bindings is not None:
            self._limit.add(self._places[position], registration, verdict.bindings)
            self._matches += 1

    def _of(self, position: int) -> PublicationConditions:
        found = self._conditions.get(position)
        if found is None:
            answers = self._answers.get(position, {})
            found = self._conditions[position] = PublicationConditions(answers, self._terms, self._plans)
        return found

    def _needed(self, pairs: Sequence[int]) -> OpenRows:
        """These pairs, with the calls that each needs first."""
        left = self._open.only(pairs)
        numbers: dict[GroundCall, int] = {}
        found: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        for conditions in self._conditions.values():
            if not conditions.members:
                continue
            calls = np.array([numbers.setdefault(call, len(numbers)) for call in conditions.calls], np.int64)
            of_member = np.repeat(np.array(conditions.pairs, np.int64), conditions.lengths)
            found.append(np.stack([of_member, calls[np.array(conditions.needs)[conditions.members]]], axis=1))
        if not found:
            return left
        unique = np.unique(np.concatenate(found), axis=0)
        waits = np.searchsorted(unique[:, 0], [*pairs, self._open.pairs]).astype(np.int64)
        return left._replace(waits=waits, needed=unique[:, 1].astype(np.int32), calls=tuple(numbers))
