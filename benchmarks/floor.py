"""The floor under "ids in": what no matcher with this key table can go below.

For each publication its keys are looked up as the matcher does it, and the pairs that match, known beforehand and in
order, are copied to two arrays. No structure is looked at, nothing is joined or compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import njit
from triplecast.kernels.layout import Encoded, Index
from triplecast.kernels.probe import Hits, forget_keys, make_hits, probe

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


@njit
def _probe_and_copy(
    index: Index, encoded: Encoded, hits: Hits, offsets: NDArray[np.int64], matched: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    publication = np.empty(len(matched), np.int32)
    subscription = np.empty(len(matched), np.int32)
    for view in range(len(encoded.view_mode)):
        keys, _ = probe(index, encoded, view, hits)
        for row in range(offsets[view], offsets[view + 1]):
            publication[row] = view
            subscription[row] = matched[row]
        forget_keys(hits, keys)
    return publication, subscription


def probe_and_copy(index: Index, encoded: Encoded, pairs: Pairs) -> Pairs:
    """`pairs` are those of the batch, grouped by publication; one view a publication."""
    publication, subscription = pairs
    offsets = np.searchsorted(publication, np.arange(len(encoded.view_mode) + 1))
    hits = make_hits(index, encoded, np.zeros((len(index.key_terms) >> 6) + 1, np.uint64))
    return _probe_and_copy(index, encoded, hits, offsets, subscription)
