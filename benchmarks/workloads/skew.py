"""Subscriptions that crowd: a popularity that falls steeply, no key at all, keys that every record has.

*Zipf 1.2*: `realtail` whose interests and records both draw their terms with that exponent, so that interests crowd
where the records do.

*all-variable*: no constant in any pattern; each has bounds of its own on a number. Half are one pattern, the others two
or three in a chain or on one subject.

*common keys*: every constant is one that many records have: the root class, one of the five most frequent classes, one
of the three most frequent terms of the two most used category properties (each property is used in every record), a
linked resource; with a window of a fiftieth of a number's span.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.workloads.catalogue import LARGEST, LINKS, NUMBERS, open_catalogue, write_interests, write_records
from benchmarks.workloads.texts import Workload, to_query

STEEP = 1.2
_VARIABLE_FORMS = (
    (("?s", "?p", "?v"),),
    (("?s", "?p", "?v"),),
    (("?s", "?p", "?o"), ("?o", "?q", "?v")),
    (("?s", "?p", "?v"), ("?s", "?q", "?o"), ("?o", "?r", "?w")),
)
_WINDOW = LARGEST / 50
_CLASSES, _TERMS = 5, 3


def make_steep(subscriptions: int, publications: int) -> Workload:
    interests = write_interests(open_catalogue(8, STEEP), subscriptions)
    return Workload("realtail, Zipf 1.2", interests, write_records(open_catalogue(7, STEEP), publications))


def write_all_variable(count: int) -> list[str]:
    """`count` subscriptions without a constant in their patterns."""
    source = np.random.default_rng(12)
    highs = LARGEST * (1 - 0.05 * source.random(count))
    return [
        to_query(_VARIABLE_FORMS[number % len(_VARIABLE_FORMS)], {"?v": [f">= {high:.1f}"]})
        for number, high in enumerate(highs.tolist())
    ]


def write_common(count: int) -> list[str]:
    """`count` subscriptions whose every constant is common."""
    return list(_write_common(count))


def _write_common(count: int) -> Iterator[str]:
    source = np.random.default_rng(13)
    classes = _frequent_classes()
    for number in range(count):
        low = source.random() * (LARGEST - _WINDOW)
        first, second = source.integers(_TERMS, size=2).tolist()
        patterns = [
            ("?x", "b:type", "b:class0"),
            ("?x", "b:type", f"b:class{classes[int(source.integers(_CLASSES))]}"),
            ("?x", "b:category0", f"b:term0-{first}"),
            ("?x", f"b:number{source.integers(NUMBERS)}", "?v"),
        ]
        if number % 2:
            patterns += [("?x", f"b:link{source.integers(LINKS)}", "?y"), ("?y", "b:category0", f"b:term0-{second}")]
        else:
            patterns.append(("?x", "b:category1", f"b:term1-{second}"))
        yield to_query(patterns, {"?v": [f">= {low:.1f}", f"< {low + _WINDOW:.1f}"]})


def _frequent_classes() -> list[int]:
    """The most frequent ones below the root."""
    catalogue = open_catalogue(7, 1.0)
    counts = np.zeros(len(catalogue.parents), np.int64)
    for number in catalogue.draw_classes(10_000).tolist():
        while number:
            counts[number] += 1
            number = int(catalogue.parents[number])
    classes: list[int] = np.argsort(-counts, kind="stable")[:_CLASSES].tolist()
    return classes
