"""Measure one workload in two variants with equal matches: what the second costs over the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.figures import Figure, Timing, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import in_batches, to_publications
from benchmarks.steps import match_ids
from benchmarks.workloads.texts import Variant
from triplecast.index import IndexWriter, Segment, Snapshot
from triplecast.kernels.layout import Encoded
from triplecast.kernels.views import Views
from triplecast.match import Matcher
from triplecast.match.entailed import ClosureCache
from triplecast.match.segment import Scratch, encode_batch
from triplecast.match.views import scan_views
from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId
from triplecast.taxonomy import Taxonomies

CHECKED = 100
"""Publications whose matches and bindings are compared before anything is measured."""


class IndexedVariant:
    """A variant, indexed."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        registrations = [Registration(RegistrationId(i), given) for i, given in enumerate(variant.subscriptions, 1)]
        self.snapshot: Snapshot = IndexWriter().apply(registrations, [], len(registrations))
        self.publications = to_publications(variant.workload)
        self.size = (variant.workload.name, len(registrations))
        self.taxonomies = Taxonomies((TaxonomyVersion(0, variant.taxonomy.lines, False),))
        self._closures = ClosureCache()
        self._scratch: dict[Segment, Scratch] = {segment: Scratch(segment) for segment in self.snapshot.segments}

    def match_bytes(self) -> int:
        """Match N-Triples bytes to ids; return the number of pairs."""
        return sum(
            len(match_ids(*encoded)[0]) for batch in in_batches(self.publications) for encoded in self._encode(batch)
        )

    def ids_in(self) -> Callable[[], object]:
        """Return a function that matches publications encoded before."""
        encoded = [each for batch in in_batches(self.publications) for each in self._encode(batch)]
        return lambda: [match_ids(*each) for each in encoded]

    def count_triples(self) -> float:
        """Return the triples of a publication as published, on average."""
        return sum(lines.count(b"\n") for lines in self.variant.workload.publications) / len(self.publications)

    def _encode(self, batch: Sequence[Publication]) -> Iterator[tuple[Segment, Views, Encoded, Scratch]]:
        """Yield the batch as each segment reads it."""
        taxonomy = self.taxonomies.before(self.publications[0].position)
        segments, plain = self.snapshot.segments, scan_views(batch)
        entailed = self._closures.entail(segments, taxonomy, plain)
        for segment, views, _, encoded in encode_batch(segments, plain, entailed):
            yield segment, views, encoded, self._scratch[segment]


def measure_variants(plain: Variant, other: Variant, cost: str, most: float) -> Iterator[Figure]:
    """Yield both variants' rates and, as `cost`, the core time of `other` over that of `plain`, at most `most` times.
    Raises ValueError unless they have the same matches."""
    ways = (IndexedVariant(plain), IndexedVariant(other))
    check_alike(*ways)
    count = len(ways[0].publications)
    matches = [way.match_bytes() / count for way in ways]
    for scenario, runs in (
        ("ids in", [way.ids_in() for way in ways]),
        ("N-Triples bytes in, ids out", [way.match_bytes for way in ways]),
    ):
        timings: list[Timing] = []
        for way, found, run in zip(ways, matches, runs, strict=True):
            timings.append(time_runs(run))
            work = {"matches": found, "triples": way.count_triples(), "segments": float(len(way.snapshot.segments))}
            yield make_rate(scenario, way.size, timings[-1], count, work=work)
        times = timings[1].processor / timings[0].processor
        yield Figure(f"{scenario}: {cost}, core time", *ways[1].size, times, "times", target=at_most(most))


def check_alike(one: IndexedVariant, other: IndexedVariant) -> None:
    """Raise ValueError unless both give the same bindings for the same pairs."""
    with Matcher() as matcher:
        found, again = (
            matcher.match(way.snapshot, list(way.publications[:CHECKED]), way.taxonomies) for way in (one, other)
        )
    same = np.array_equal(found.publication, again.publication) and np.array_equal(
        found.registration, again.registration
    )
    if not same or any(found.bindings_of(row) != again.bindings_of(row) for row in range(len(found))):
        names = one.variant.workload.name, other.variant.workload.name
        raise ValueError(f"{names[0]} give {len(found)} matches, {names[1]} {len(again)}, or other bindings")
