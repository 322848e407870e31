"""Catalogue records and interests in them: `real`, `realtail`, `alerts`.

A record is one resource with its classes up to the root (200 classes), 8 to 19 category values (20 properties with
vocabularies of 20 to 50,000 terms, Zipf 1.0), 3 to 5 numbers uniform in [0, 10,000), 2 to 5 texts, and 1 to 4 linked
resources with 2 to 4 category values and a number each: 36 triples on average. A subscription has 1 to 5 patterns on
it: categories, a class, a range of a number, a linked resource's category, rarely a variable predicate or a shared
object.

`real` draws the interests as the records draw their values (Zipf 1.0): about 1,000 of 100,000 subscriptions match a
record. `realtail` draws them from the tail (Zipf 0.52): about 180. `alerts` are interests from the tail, hardly
any with fewer than three patterns, so that two of 100,000 match a record on average.

Where this differs from the prototype: numbers are decimals of two places, and texts have words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.texts import Workload, decimal, iri, to_lines, to_query

VOCABULARIES = np.array(
    [20000, 5000, 3000, 50000, 2000, 500, 300, 200, 100, 1000, 200, 100, 50, 30, 5000, 800, 20, 100, 20000, 60]
)
"""Terms of each category property."""
POPULARITY = np.array([30, 8, 8, 6, 6, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1]) / 100
"""How often each category property is used."""
CLASSES = 200
NUMBERS = 10
LINKS = 4
TEXTS = 15
LARGEST = 1e4
WORDS = (
    *("record", "survey", "region", "water", "forest", "annual", "report", "data", "series", "index", "river", "map"),
    *("section", "model", "winter", "field"),
)
MOST_PATTERNS = 5
TAIL = 0.52
"""Exponent of the interests of `realtail` and `alerts`."""


def zipf(size: int, exponent: float) -> NDArray[np.float64]:
    """Cumulative probabilities of ranks 1 to `size`."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    cumulated = np.cumsum(weights / weights.sum())
    cumulated[-1] = 1.0
    return cumulated


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What records and interests are drawn from."""

    source: np.random.Generator
    categories: Sequence[NDArray[np.float64]]
    """Cumulative probabilities of each property's terms."""
    classes: NDArray[np.float64]
    parents: NDArray[np.int64]
    """Of each class; the root is its own."""

    def draw_categories(self, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(property, term) pairs."""
        properties = self.source.choice(len(VOCABULARIES), shape, p=POPULARITY)
        terms = np.zeros(shape, np.int64)
        for number, cumulated in enumerate(self.categories):
            chosen = properties == number
            terms[chosen] = np.searchsorted(cumulated, self.source.random(int(chosen.sum())))
        return properties, terms

    def draw_classes(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self.classes, self.source.random(count))


def open_catalogue(seed: int, exponent: float) -> Catalogue:
    """Term popularity falls with `exponent`; the class tree is the same for every seed."""
    tree = np.random.default_rng(7)
    parents = np.array([tree.integers(0, max(1, number // 3)) for number in range(CLASSES)])
    categories = [zipf(int(size), exponent) for size in VOCABULARIES]
    return Catalogue(np.random.default_rng(seed), categories, zipf(CLASSES, 0.8), parents)


def make_real(subscriptions: int, publications: int) -> Workload:
    interests = write_interests(open_catalogue(8, 1.0), subscriptions)
    return Workload("real", interests, write_records(open_catalogue(7, 1.0), publications))


def make_real_tail(subscriptions: int, publications: int) -> Workload:
    interests = write_interests(open_catalogue(8, TAIL), subscriptions)
    return Workload("realtail", interests, write_records(open_catalogue(7, 1.0), publications))


def make_alerts(subscriptions: int, publications: int) -> Workload:
    interests = write_interests(open_catalogue(8, TAIL), subscriptions, ALERTS)
    return Workload("alerts", interests, write_records(open_catalogue(7, 1.0), publications))


@dataclass(frozen=True, slots=True)
class Taste:
    """What interests look like."""

    patterns: tuple[float, ...]
    """Shares of the subscriptions with 1 to 5 patterns."""
    shared: float
    """Share, among those with three or more, of those whose first two patterns share their object."""


INTERESTS = Taste((0.20, 0.30, 0.27, 0.15, 0.08), 0.02)
ALERTS = Taste((0.0, 0.024, 0.42, 0.366, 0.19), 0.0)


def write_records(catalogue: Catalogue, count: int) -> list[bytes]:
    """`count` publications in canonical N-Triples."""
    return [_write_record(catalogue, number) for number in range(count)]


def _write_record(catalogue: Catalogue, number: int) -> bytes:
    source = catalogue.source
    record = iri(f"record-{number}")
    triples = []
    class_number = int(catalogue.draw_classes(1)[0])
    while class_number:
        triples.append((record, iri("type"), iri(f"class{class_number}")))
        class_number = int(catalogue.parents[class_number])
    triples.append((record, iri("type"), iri("class0")))
    triples += _categorise(catalogue, record, int(source.integers(8, 20)))
    for chosen in source.choice(NUMBERS, source.integers(3, 6), replace=False):
        triples.append((record, iri(f"number{chosen}"), decimal(source.random() * LARGEST)))
    for chosen in source.choice(TEXTS, source.integers(2, 6), replace=False):
        words = source.choice(len(WORDS), source.integers(3, 13))
        triples.append((record, iri(f"text{chosen}"), f'"{" ".join(WORDS[word] for word in words)} {number}"'))
    for part in range(source.integers(1, 5)):
        linked = iri(f"record-{number}-{part}")
        triples.append((record, iri(f"link{source.integers(LINKS)}"), linked))
        triples += _categorise(catalogue, linked, int(source.integers(2, 5)))
        triples.append((linked, iri(f"number{source.integers(NUMBERS)}"), decimal(source.random() * LARGEST)))
    return to_lines(triples)


def _categorise(catalogue: Catalogue, subject: str, count: int) -> list[tuple[str, str, str]]:
    pairs = zip(*catalogue.draw_categories((count,)), strict=True)
    return [(subject, iri(f"category{kind}"), iri(f"term{kind}-{term}")) for kind, term in pairs]


def write_interests(catalogue: Catalogue, count: int, taste: Taste = INTERESTS) -> list[str]:
    """`count` subscriptions."""
    source = catalogue.source
    lengths = source.choice(MOST_PATTERNS, count, p=taste.patterns) + 1
    properties, terms = catalogue.draw_categories((count, MOST_PATTERNS))
    ranged = (lengths >= 2) & (source.random(count) < 0.45)
    only_range = (lengths == 1) & (source.random(count) < 0.01)
    typed = (lengths >= 3) & (source.random(count) < 0.5)
    long_path = (lengths == 5) & (source.random(count) < 0.6)
    short_path = (lengths == 4) & ~typed & (source.random(count) < 0.5)
    any_predicate = (lengths >= 2) & (source.random(count) < 0.02)
    shared = (lengths >= 3) & ~ranged & (source.random(count) < taste.shared)
    ranges = _draw_ranges(source, ranged | only_range, only_range)
    numbers = source.integers(NUMBERS, size=count)
    links = source.integers(LINKS, size=count)
    classes = catalogue.draw_classes(count)
    texts = []
    for i in range(count):
        rows = [
            ["?x", f"b:category{kind}", f"b:term{kind}-{term}"]
            for kind, term in zip(properties[i, : lengths[i]].tolist(), terms[i, : lengths[i]].tolist(), strict=True)
        ]
        conditions = {}
        if ranged[i] or only_range[i]:
            rows[int(ranged[i])][1:] = [f"b:number{numbers[i]}", "?v"]
            conditions = {"?v": ranges[i]}
        if typed[i]:
            rows[2][1:] = ["b:type", f"b:class{classes[i]}"]
        if long_path[i] or short_path[i]:
            step = 3 if long_path[i] else 2
            rows[step][1:] = [f"b:link{links[i]}", "?y"]
            rows[step + 1][0] = "?y"
        if any_predicate[i]:
            rows[0][1] = "?p"
        if shared[i]:
            rows[0][2] = rows[1][2] = "?z"
        texts.append(to_query([(row[0], row[1], row[2]) for row in rows], conditions))
    return texts


def _draw_ranges(source: np.random.Generator, wanted: NDArray[np.bool_], narrow: NDArray[np.bool_]) -> list[list[str]]:
    """Comparisons for each wanted subscription: three in ten (of those not `narrow`) a window of a tenth of the span,
    else one bound, uniform in how much it lets through; `narrow` ones let through at most one in a hundred."""
    count = len(wanted)
    window = ~narrow & (source.random(count) < 0.3)
    low = source.random(count) * (LARGEST * 0.9)
    passing = np.where(narrow, 0.01, 1.0) * source.random(count)
    above = source.random(count) < 0.7
    ranges: list[list[str]] = []
    for i in range(count):
        if not wanted[i]:
            ranges.append([])
        elif window[i]:
            ranges.append([f">= {low[i]:.1f}", f"< {low[i] + LARGEST / 10:.1f}"])
        else:
            bound = (1 - passing[i]) * LARGEST if above[i] else passing[i] * LARGEST
            ranges.append([f"{'>=' if above[i] else '<='} {bound:.1f}"])
    return ranges
