"""Open rows to results, in rounds: pairs step together, so that one call serves all subscriptions, and one request all
publications of the batch.

In each step, every publication's schedule chooses ground conditions; the calls that these need are made, each once, and
their results decide conditions, until no row is left. Results are the same under every schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from triplecast.evaluate.unknown import Answers, Unknown
from triplecast.index import Snapshot
from triplecast.match import Matcher
from triplecast.match.answer_limit import AnswerLimit
from triplecast.match.matcher import NO_ANSWERS, join_rows, merge_batches, only_pairs
from triplecast.match.resolve import Resolved
from triplecast.model.answers import Answer, Failed, GroundCall, OperatorResult, format_answer
from triplecast.model.match import NO_CONDITIONS, AnswerLimits, Learnt, MatchedBatch, MatchStats, Undecided
from triplecast.model.open_rows import NO_OPEN_ROWS, OpenRows
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import read_open_rows
from triplecast.operators.asking.asker import Asker, ConditionRun
from triplecast.operators.messages import PublicationCall
from triplecast.residual import PublicationConditions
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

AT_ONCE = 32
"""Ground conditions of one publication that are looked at in one step."""
UNASKED = "internal: it waits for operators, and none was left to be called; report it to the authors of Triplecast"


class Settled(NamedTuple):
    """What became of open rows once their operators were called."""

    matched: MatchedBatch
    """Of these pairs; open are those whose operators are unavailable."""
    results: tuple[OperatorResult, ...]
    """Answers that had not been known before, in the order of the calls."""
    learnt: tuple[Learnt, ...]
    """Of the conditions that were looked at."""


def settle(
    asker: Asker,
    matcher: Matcher,
    open_rows: OpenRows,
    publications: Sequence[Publication],
    taxonomies: Taxonomies = NO_TAXONOMIES,
    known: Mapping[int, Answers] = NO_ANSWERS,
    conditions: Mapping[int, PublicationConditions] = NO_CONDITIONS,
) -> Settled:
    """Call operators until no row is open but for those whose operators are unavailable.

    `publications` are those of the rows, by position, maybe among others; `known` are answers by position, whose calls
    are not made again. `conditions`: what the rows wait for, where they were matched just now.
    """
    asking = AskingRound(asker, publications, known, matcher.limits)
    found = [Resolved([], open_rows, conditions, MatchStats(), len(publications))]
    if not conditions or any(asking.answers.values()):
        found = [matcher.resolve(open_rows, asking.answers, publications, taxonomies, asking.limit)]
    while (left := found[-1].open).pairs:
        if not asking.ask(found[-1].conditions, len(found) - 1):
            return asking.settled(found, left)
        found.append(matcher.resolve(left, asking.answers, publications, taxonomies, asking.limit))
    if asking.lost:
        pairs = np.flatnonzero(asking.undecided(open_rows, found))
        certain = asking.certain()
        left = matcher.resolve(
            open_rows.only(pairs), certain, publications, taxonomies, AnswerLimit(matcher.limits.publication)
        ).open
    return asking.settled(found, left)


def settle_stored(
    asker: Asker,
    matcher: Matcher,
    snapshot: Snapshot,
    stored: Iterable[bytes],
    pairs: Collection[tuple[int, int]],
    publications: Sequence[Publication],
    taxonomies: Taxonomies,
    known: Mapping[int, Answers],
) -> Iterator[tuple[Sequence[Publication], Settled]]:
    """Call the operators of open `pairs` (position, registration), of which some are `stored`; yield what becomes of
    them by groups of publications, in order. Where some are not stored, are damaged or of another format, all are
    matched again; those whose query cannot be read any more are undecided."""
    wanted = set(pairs)
    read = [rows for rows in (read_open_rows(body, matcher.operators.grammar) for body in stored) if rows is not None]
    found = [rows for rows in (_among(rows, wanted) for rows in read) if rows.pairs]
    if wanted == {pair for rows in found for pair in _pairs(rows)}:
        for rows in found:
            published = _published(publications, rows.position.tolist())
            yield published, settle(asker, matcher, rows, published, taxonomies, known)
        return
    reasons = {each.registration: each.reason for each in snapshot.refused}
    for of, matched in matcher.match_pieces(snapshot, publications, taxonomies):
        settled = settle(asker, matcher, _among(matched.open, wanted), of, taxonomies, known)
        places: dict[int, int] = {each.position: place for place, each in enumerate(of)}
        pairs_of = {(places[position], registration) for position, registration in wanted if position in places}
        decided = only_pairs(matched, pairs_of)
        unread = tuple(
            Undecided(place, registration, f"query: {reasons[registration]}")
            for place, registration in pairs_of
            if registration in reasons
        )
        decided = replace(decided, undecided=(*decided.undecided, *unread), stats=MatchStats(undecided=len(unread)))
        yield of, settled._replace(matched=merge_batches(decided, settled.matched))


def resolve_known(
    matcher: Matcher,
    open_rows: OpenRows,
    publications: Sequence[Publication],
    taxonomies: Taxonomies,
    known: Mapping[int, Answers],
) -> MatchedBatch:
    """What `known` answers, by position, decide of open rows, without a call."""
    limit = AnswerLimit(matcher.limits.publication)
    resolved = matcher.resolve(open_rows, known, publications, taxonomies, limit)
    parts = limit.close((), len(publications))
    return join_rows(parts, [*resolved.undecided, *limit.undecided()], resolved.open, resolved.stats)


def _published(publications: Sequence[Publication], positions: Iterable[int]) -> list[Publication]:
    wanted = set(positions)
    return [each for each in publications if each.position in wanted]


def _pairs(rows: OpenRows) -> list[tuple[int, int]]:
    return list(zip(rows.position.tolist(), rows.registration.tolist(), strict=True))


def _among(rows: OpenRows, pairs: Collection[tuple[int, int]]) -> OpenRows:
    return rows.only(np.flatnonzero([pair in pairs for pair in _pairs(rows)]))


def match_and_ask(
    matcher: Matcher,
    asker: Asker,
    snapshot: Snapshot,
    publications: Sequence[Publication],
    taxonomies: Taxonomies = NO_TAXONOMIES,
    known: Mapping[int, Answers] = NO_ANSWERS,
) -> Iterator[tuple[Sequence[Publication], MatchedBatch]]:
    """Match publications that nobody keeps, in pieces (`Matcher.match_pieces`), as `ask_pieces` does."""
    yield from ask_pieces(matcher, asker, matcher.match_pieces(snapshot, publications, taxonomies), taxonomies, known)


def ask_pieces(
    matcher: Matcher,
    asker: Asker,
    pieces: Iterable[tuple[Sequence[Publication], MatchedBatch]],
    taxonomies: Taxonomies = NO_TAXONOMIES,
    known: Mapping[int, Answers] = NO_ANSWERS,
) -> Iterator[tuple[Sequence[Publication], MatchedBatch]]:
    """Call the operators of pieces that nobody keeps: pairs whose operators are unavailable are undecided."""
    for of, matched in pieces:
        yield of, _ask_open(matcher, asker, matched, of, taxonomies, known) if matched.open.pairs else matched


def _ask_open(
    matcher: Matcher,
    asker: Asker,
    matched: MatchedBatch,
    publications: Sequence[Publication],
    taxonomies: Taxonomies,
    known: Mapping[int, Answers],
) -> MatchedBatch:
    settled = settle(asker, matcher, matched.open, publications, taxonomies, known, matched.conditions).matched
    places: dict[int, int] = {each.position: place for place, each in enumerate(publications)}
    left = settled.open.awaited()
    lost = [Undecided(places[each.position], each.registration, each.reason) for each in left]
    stats = replace(settled.stats, undecided=settled.stats.undecided + len(lost))
    undecided = (*settled.undecided, *lost)
    return merge_batches(matched, replace(settled, undecided=undecided, open=NO_OPEN_ROWS, stats=stats))


class AskingRound:
    """The answers that are known of a batch's publications, round after round."""

    def __init__(
        self, asker: Asker, publications: Sequence[Publication], known: Mapping[int, Answers], limits: AnswerLimits
    ) -> None:
        self._asker = asker
        self._publications: dict[int, Publication] = {each.position: each for each in publications}
        self._places: dict[int, int] = {each.position: place for place, each in enumerate(publications)}
        self.answers: dict[int, dict[GroundCall, Answer]] = {
            position: dict(known.get(position, {})) for position in self._publications
        }
        """By position."""
        self.limit = AnswerLimit(limits.publication)
        self.lost: dict[tuple[int, GroundCall], None] = {}
        """Calls, by position, whose operators are unavailable: they count as failed, and what depends on them stays
        open."""
        self._results: list[OperatorResult] = []
        self._failed = 0
        self._counts: dict[str, list[float]] = {}
        self._seconds: dict[tuple[int, GroundCall], float] = {}
        """What calls took, of those that were made."""

    def ask(self, conditions: Mapping[int, PublicationConditions], number: int) -> bool:
        """Make calls until the schedules of all publications have their rows decided; whether any was made. Of rows of
        which one may be enough, round `number` offers ``2 ** number``."""
        before = len(self._results) + len(self.lost)
        waiting = {position: each for position, each in sorted(conditions.items()) if each.lengths}
        running = {position: self._asker.start(each, 1 << number) for position, each in waiting.items()}
        while running:
            wanted: dict[tuple[int, GroundCall], None] = {}
            for position, run in list(running.items()):
                places = run.run.wanted(AT_ONCE)
                if not places:
                    del running[position]
                for place in places:
                    call = self._judge(position, run, place)
                    if call is not None:
                        wanted[position, call] = None
            if wanted:
                self._perform(wanted, running, waiting)
        return len(self._results) + len(self.lost) > before

    def certain(self) -> dict[int, Answers]:
        """The answers without those that stand for unavailable operators."""
        return {
            position: {call: answer for call, answer in answers.items() if (position, call) not in self.lost}
            for position, answers in self.answers.items()
        }

    def undecided(self, open_rows: OpenRows, found: Sequence[Resolved]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Of each pair, whether it was left undecided."""
        pairs = {(pair.publication, pair.registration) for each in found for pair in each.undecided}
        rows = zip(open_rows.position.tolist(), open_rows.registration.tolist(), strict=True)
        return np.array([(self._places[position], registration) in pairs for position, registration in rows], np.bool_)

    def settled(self, found: Sequence[Resolved], left: OpenRows) -> Settled:
        """All that was found. Of the pairs that are `left`, an undecided one is open for its reason; another would stay
        open permanently, so it is undecided."""
        reasons = {(each.publication, each.registration): each.reason for part in found for each in part.undecided}
        rows = zip(left.position.tolist(), left.registration.tolist(), strict=True)
        pairs = [(self._places[position], registration) for position, registration in rows]
        told = tuple(reasons.pop(pair, "") for pair in pairs)
        if not all(told):
            reasons.update((pair, UNASKED) for pair, reason in zip(pairs, told, strict=True) if not reason)
            left = left.only([number for number, reason in enumerate(told) if reason])
        left = left._replace(reasons=tuple(filter(None, told)))
        parts = self.limit.close((), len(self._publications))
        reasons.update(((each.publication, each.registration), each.reason) for each in self.limit.undecided())
        stats = sum((each.stats for each in found), MatchStats())
        stats += MatchStats(
            matches=sum(len(part.publication) for part in parts) - stats.matches,
            undecided=len(reasons) - stats.undecided,
            operator_calls=len(self._results),
            operator_failures=self._failed,
        )
        undecided = [Undecided(*pair, reason) for pair, reason in reasons.items()]
        learnt = tuple(Learnt(template, *counts) for template, counts in sorted(self._counts.items()))
        return Settled(join_rows(parts, undecided, left, stats), tuple(self._results), learnt)

    def _perform(
        self,
        wanted: Iterable[tuple[int, GroundCall]],
        running: Mapping[int, ConditionRun],
        conditions: Mapping[int, PublicationConditions],
    ) -> None:
        """Make the calls, and judge every condition that needs one of them."""
        asked = [PublicationCall(self._publications[position], call) for position, call in wanted]
        performed = self._asker.performer.perform(asked)
        for (position, call), (answer, seconds, final) in zip(wanted, performed, strict=True):
            self.answers[position][call] = conditions[position].answers[call] = answer
            if final:
                self._note(position, call, answer)
            else:
                self.lost[position, call] = None
            if seconds > 0:
                self._seconds[position, call] = seconds
            run = running[position]
            for waiting in run.woken_by(call):
                self._judge(position, run, waiting)

    def _note(self, position: int, call: GroundCall, answer: Answer) -> None:
        self._failed += isinstance(answer, Failed)
        declared = self._asker.performer.operators.find(call.operator)
        version = declared.version if declared is not None else ""
        self._results.append(OperatorResult(position, call.operator, version, call.arguments, format_answer(answer)))

    def _judge(self, position: int, run: ConditionRun, place: int) -> GroundCall | None:
        """Settle a condition in the run, or return the call that it needs now."""
        if run.settled(place):
            return None
        try:
            holds = run.judge(place)
        except Unknown as met:
            run.wait(place, met.calls[0])
            return met.calls[0]
        run.settle(place, holds)
        took = [self._seconds.get((position, call)) for call in run.calls(place)]
        seconds = None if None in took else sum(each for each in took if each is not None)
        self._asker.experience.learn(run.templates[place], holds, seconds)
        condition = run.condition(place)
        counts = self._counts.setdefault(condition.template, [condition.cost, 0.0, 0.0, 0.0, 0.0])
        for at, more in enumerate((holds is not None, bool(holds), seconds is not None, seconds or 0.0), 1):
            counts[at] += more
        return None
