"""Matches as columns, of a segment or of a whole batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32
from triplecast.kernels.render import gather
from triplecast.model.match import MatchedBatch, MatchStats, Undecided
from triplecast.model.open_rows import NO_OPEN_ROWS, OpenRows


class Decided(NamedTuple):
    """Decided matches of one segment; row i has the JSON ``text[start[i]:start[i] + length[i]]``."""

    publication: I32
    registration: NDArray[np.int64]
    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]


class Pairs(NamedTuple):
    """Pairs by (publication, subscription number)."""

    publication: I32
    subscription: I32


def make_matches(publication: list[int], registration: list[int], bindings: list[bytes]) -> Decided:
    """Matches with the JSON of each."""
    lengths = np.array([len(each) for each in bindings], np.int64)
    return Decided(
        np.array(publication, np.int32),
        np.array(registration, np.int64),
        np.frombuffer(bytearray(b"".join(bindings)), np.uint8),
        np.cumsum(lengths) - lengths,
        lengths,
    )


def no_matches() -> Decided:
    return make_matches([], [], [])


def join_matches(
    parts: Sequence[Decided], undecided: Sequence[Undecided], open_rows: OpenRows, stats: MatchStats
) -> MatchedBatch:
    """All rows of a batch by (publication, registration)."""
    shifts = np.cumsum([0, *(len(part.text) for part in parts)])[:-1]
    publication = np.concatenate([part.publication for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    start = np.concatenate([part.start + shift for part, shift in zip(parts, shifts, strict=True)])
    length = np.concatenate([part.length for part in parts])
    order = np.lexsort((registration, publication))
    bindings, offsets = gather(np.concatenate([part.text for part in parts]), start[order], length[order])
    ordered = tuple(sorted(undecided, key=lambda pair: (pair.publication, pair.registration)))
    return MatchedBatch(publication[order], registration[order], offsets, bindings, ordered, open_rows, stats)


def merge_batches(first: MatchedBatch, then: MatchedBatch) -> MatchedBatch:
    """What was decided of a batch at first, and of its open rows later; `then` has those that are open still."""
    parts = [
        Decided(each.publication, each.registration, each.bindings, offsets[:-1], np.diff(offsets))
        for each in (first, then)
        for offsets in (each.bindings_offsets,)
    ]
    return join_matches(parts, (*first.undecided, *then.undecided), then.open, first.stats + then.stats)


def only_pairs(batch: MatchedBatch, pairs: Collection[tuple[int, int]]) -> MatchedBatch:
    """What is decided of some pairs (publication, registration) of a batch, which counts as no work."""
    rows = zip(batch.publication.tolist(), batch.registration.tolist(), strict=True)
    kept = np.array([pair in pairs for pair in rows], np.bool_)
    offsets = batch.bindings_offsets
    part = Decided(
        batch.publication[kept], batch.registration[kept], batch.bindings, offsets[:-1][kept], np.diff(offsets)[kept]
    )
    undecided = [pair for pair in batch.undecided if (pair.publication, pair.registration) in pairs]
    return join_matches([part], undecided, NO_OPEN_ROWS, MatchStats())
