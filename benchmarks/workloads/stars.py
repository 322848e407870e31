"""Stars of equalities, the workload on which Lucene's percolator, CLIPS and others were measured (W).

A subscription is three constant (predicate, object) pairs on one subject; a publication is 30 pairs on one subject; in
both all predicates are different. 200 predicates and 5,000 objects, both Zipf 0.9. Matches a publication: 0.007 at
100,000 subscriptions and 0.07 at a million; the page that describes W says about 0.01 and 0.1 and leaves open whether a
publication's predicates repeat. With repetition there were 0.024 and 0.24.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.catalogue import zipf
from benchmarks.workloads.texts import Workload, iri, to_lines, to_query

PREDICATES = 200
OBJECTS = 5_000
EXPONENT = 0.9
PAIRS = 30
PATTERNS = 3
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Stars:
    """(predicate, object) pairs as numbers that are also ranks: 0 is drawn most often."""

    subscriptions: NDArray[np.int32]
    """[S, 3, 2]."""
    publications: NDArray[np.int32]
    """[P, 30, 2]."""


def draw_stars(subscriptions: int, publications: int, seed: int = 11) -> Stars:
    source = np.random.default_rng(seed)
    return Stars(draw_pairs(source, subscriptions, PATTERNS), draw_pairs(source, publications, PAIRS))


def draw_pairs(source: np.random.Generator, rows: int, columns: int) -> NDArray[np.int32]:
    """[rows, columns, 2]; a row's predicates are different."""
    weights = np.arange(1, PREDICATES + 1) ** -EXPONENT
    objects = np.searchsorted(zipf(OBJECTS, EXPONENT), source.random((rows, columns)))
    predicates = np.empty((rows, columns), np.int32)
    for start in range(0, rows, _AT_ONCE):
        part = predicates[start : start + _AT_ONCE]
        # A race of exponential clocks: the first ones to ring are a draw by weight without replacement
        clocks = source.exponential(size=(len(part), PREDICATES)) / weights
        first = np.argpartition(clocks, columns, axis=1)[:, :columns]
        order = np.argsort(np.take_along_axis(clocks, first, axis=1), axis=1)
        part[:] = np.take_along_axis(first, order, axis=1)
    return np.stack([predicates, objects], axis=2).astype(np.int32)


def make_stars(subscriptions: int, publications: int) -> Workload:
    stars = draw_stars(subscriptions, publications)
    return Workload("stars", write_subscriptions(stars.subscriptions), write_publications(stars.publications))


def write_subscriptions(pairs: NDArray[np.int32]) -> list[str]:
    return [to_query([("?s", f"b:p{name}", f"b:o{value}") for name, value in star], {}) for star in pairs.tolist()]


def write_publications(pairs: NDArray[np.int32]) -> list[bytes]:
    return [_write_publication(number, star) for number, star in enumerate(pairs.tolist())]


def _write_publication(number: int, star: Iterable[tuple[int, int]]) -> bytes:
    subject = iri(f"s{number}")
    return to_lines([(subject, iri(f"p{name}"), iri(f"o{value}")) for name, value in star])
