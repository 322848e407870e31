"""A snapshot and publications to a `MatchedBatch`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.evaluate import Evaluator
from triplecast.evaluate.unknown import Answers
from triplecast.index import Segment, Snapshot
from triplecast.kernels.render import keep_sheets
from triplecast.match.entailed import ClosureCache
from triplecast.match.members import BatchMatches
from triplecast.match.resolve import Resolution, Resolved
from triplecast.match.segment import Scratch, Validity, encode_batch, match_segment
from triplecast.match.views import scan_views
from triplecast.model.match import MatchedBatch, MatchRows, MatchStats, Undecided
from triplecast.model.open_rows import EVALUATED, NO_OPEN_ROWS, OpenRows
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.residual import ResidualPlans
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

NO_ANSWERS: Mapping[int, Answers] = MappingProxyType({})


class Matcher:
    """Matches batches and resolves open rows; keeps scratch for each segment. For one thread at a time.

    The `evaluator` decides what the index cannot; without one, a `Matcher` has its own, which `close` ends. No operator
    is called here: what they have a say in stays open.
    """

    def __init__(self, evaluator: Evaluator | None = None, operators: OperatorSet = NO_OPERATORS) -> None:
        self._evaluator = evaluator or Evaluator()
        self._owned = evaluator is None
        self._plans = ResidualPlans(operators)
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()
        self._closures = ClosureCache()

    def __enter__(self) -> Matcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owned:
            self._evaluator.close()

    @property
    def operators(self) -> OperatorSet:
        """The operators that queries may call; plans are made again for others."""
        return self._plans.operators

    @operators.setter
    def operators(self, operators: OperatorSet) -> None:
        self._plans = ResidualPlans(operators)

    def match(
        self, snapshot: Snapshot, publications: Sequence[Publication], taxonomies: Taxonomies = NO_TAXONOMIES
    ) -> MatchedBatch:
        """What matches each publication, as of its own position: added < position < removed, and with the last taxonomy
        before it. Pairs that operators decide are open."""
        batch, validity = BatchMatches(publications), Validity(snapshot, publications)
        for first, last, taxonomy in taxonomies.runs(publications):
            plain = scan_views(publications[first:last], first)
            entailed = self._closures.entail(snapshot.segments, taxonomy, plain)
            for read in encode_batch(snapshot.segments, plain, entailed):
                match_segment(read, self._scratch_of(read.segment), self._plans, validity, batch)
        open_rows = batch.open.make(batch.numbers.texts)
        resolved = self.resolve(open_rows, NO_ANSWERS, publications, taxonomies)
        parts = [*batch.parts, resolved.decided]
        undecided = [*batch.undecided, *resolved.undecided]
        stats = batch.stats + MatchStats(
            publications=len(publications),
            candidates=int((open_rows.table == EVALUATED).sum()),
            verified=resolved.stats.verified,
            matches=sum(len(part.publication) for part in parts),
            undecided=len(undecided),
            operated=resolved.stats.operated,
        )
        return replace(join_rows(parts, undecided, resolved.open, stats), conditions=resolved.conditions)

    def resolve(
        self,
        open_rows: OpenRows,
        answers: Mapping[int, Answers],
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
    ) -> Resolved:
        """Decide pairs as far as the answers (by position) allow, as `Resolution` does."""
        return Resolution(open_rows, answers, publications, taxonomies, self._plans).decide(self._evaluator)

    def _scratch_of(self, segment: Segment) -> Scratch:
        scratch = self._scratch.get(segment)
        if scratch is None:
            scratch = self._scratch[segment] = Scratch(segment)
        return scratch


def join_rows(
    parts: Sequence[MatchRows], undecided: Sequence[Undecided], open_rows: OpenRows, stats: MatchStats
) -> MatchedBatch:
    """All rows of a batch by (publication, registration), with the sheets that they need."""
    texts = np.cumsum([0, *(int(part.offsets[-1]) for part in parts)])
    sheets = np.cumsum([0, *(len(part.offsets) - 1 for part in parts)])
    publication = np.concatenate([part.publication for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    sheet = np.concatenate([part.sheet + np.int32(first) for part, first in zip(parts, sheets, strict=False)])
    offsets = [part.offsets[:-1] + first for part, first in zip(parts, texts, strict=False)]
    text = np.concatenate([part.text[: part.offsets[-1]] for part in parts])
    order = np.lexsort((registration, publication))
    ordered = tuple(sorted(undecided, key=lambda pair: (pair.publication, pair.registration)))
    sheet, starts, text = keep_sheets(sheet[order], np.concatenate([*offsets, texts[-1:]]), text)
    return MatchedBatch(publication[order], registration[order], sheet, starts, text, ordered, open_rows, stats)


def merge_batches(first: MatchedBatch, then: MatchedBatch) -> MatchedBatch:
    """What was decided of a batch at first, and of its open rows later; `then` has those that are open still."""
    undecided = (*first.undecided, *then.undecided)
    return join_rows([first.rows, then.rows], undecided, then.open, first.stats + then.stats)


def only_pairs(batch: MatchedBatch, pairs: Collection[tuple[int, int]]) -> MatchedBatch:
    """What is decided of some pairs (publication, registration) of a batch, which counts as no work."""
    rows = batch.rows
    named = zip(rows.publication.tolist(), rows.registration.tolist(), strict=True)
    kept = np.array([pair in pairs for pair in named], np.bool_)
    part = MatchRows(rows.publication[kept], rows.registration[kept], rows.sheet[kept], rows.offsets, rows.text)
    undecided = [pair for pair in batch.undecided if (pair.publication, pair.registration) in pairs]
    return join_rows([part], undecided, NO_OPEN_ROWS, MatchStats())
