"""What every engine is given: W (`benchmarks.workloads.stars`) and witnesses, as files of numbers.

Few publications of W match at all, so that equal hashes would say little. Before the measured publications stand
`WITNESSES` others, each of which holds the pairs of three subscriptions: they are matched and hashed, not timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.stars import OBJECTS, PAIRS, PATTERNS, draw_pairs, draw_stars

WITNESSES = 200
_PLANTED = 3
_SUBSCRIPTIONS, _PUBLICATIONS = "subscriptions.i32", "publications.i32"


@dataclass(frozen=True, slots=True)
class Given:
    """Numbers of predicates and objects, which are their ranks too; little-endian in the files."""

    subscriptions: NDArray[np.int32]
    """[S, 3, 2]."""
    publications: NDArray[np.int32]
    """[WITNESSES + P, 30, 2]; among the witnesses' a pair may be there twice."""


def draw_given(subscriptions: int, publications: int) -> Given:
    stars = draw_stars(subscriptions, publications)
    witnesses = draw_pairs(np.random.default_rng(12), WITNESSES, PAIRS)
    planted = np.arange(WITNESSES * _PLANTED) % subscriptions
    witnesses[:, : _PLANTED * PATTERNS] = stars.subscriptions[planted].reshape(WITNESSES, -1, 2)
    return Given(stars.subscriptions, np.concatenate([witnesses, stars.publications]))


def write_given(given: Given, folder: Path) -> None:
    given.subscriptions.astype("<i4").tofile(folder / _SUBSCRIPTIONS)
    given.publications.astype("<i4").tofile(folder / _PUBLICATIONS)


def read_given(folder: Path) -> Given:
    return Given(
        np.fromfile(folder / _SUBSCRIPTIONS, "<i4").reshape(-1, PATTERNS, 2),
        np.fromfile(folder / _PUBLICATIONS, "<i4").reshape(-1, PAIRS, 2),
    )


def order_by_rarity(subscriptions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each star's pairs, the least drawn first; with one exponent for both, the product of the ranks orders them."""
    ranks = subscriptions.astype(np.int64) + 1
    order = np.argsort(-ranks.prod(axis=2), axis=1, kind="stable")
    return np.take_along_axis(subscriptions, order[:, :, None], axis=1)


def number_pairs(pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    """One number for each (predicate, object)."""
    return pairs[..., 0] * OBJECTS + pairs[..., 1]
