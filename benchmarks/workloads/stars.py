"""Stars of equalities, the workload on which Lucene's percolator, CLIPS and others were measured.

A subscription is three constant (predicate, object) pairs on one subject, predicates different; a publication is 30
pairs on one subject; 200 predicates and 5,000 objects, both Zipf 0.9. About 0.01 matches a publication at 100,000
subscriptions.
"""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.catalogue import zipf
from benchmarks.workloads.texts import Workload, iri, to_lines, to_query

PREDICATES = 200
OBJECTS = 5_000
EXPONENT = 0.9
PAIRS = 30


def make_stars(subscriptions: int, publications: int) -> Workload:
    source = np.random.default_rng(11)
    predicates, objects = zipf(PREDICATES, EXPONENT), zipf(OBJECTS, EXPONENT)

    def draw(rows: int, columns: int) -> tuple[list[list[int]], list[list[int]]]:
        size = (rows, columns)
        return (
            np.searchsorted(predicates, source.random(size)).tolist(),
            np.searchsorted(objects, source.random(size)).tolist(),
        )

    texts: list[str] = []
    while len(texts) < subscriptions:
        for names, values in zip(*draw(subscriptions, 3), strict=True):
            if len(set(names)) == 3 and len(texts) < subscriptions:
                pairs = [("?s", f"b:p{name}", f"b:o{value}") for name, value in zip(names, values, strict=True)]
                texts.append(to_query(pairs, {}))
    lines = []
    for number, (names, values) in enumerate(zip(*draw(publications, PAIRS), strict=True)):
        subject = iri(f"s{number}")
        pairs = [(subject, iri(f"p{name}"), iri(f"o{value}")) for name, value in zip(names, values, strict=True)]
        lines.append(to_lines(pairs))
    return Workload("stars", texts, lines)
