"""What a taxonomy costs: the same interests in the same records, with classes stated and with classes known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.figures import Figure, Timing, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import in_batches, to_publications
from benchmarks.workloads.taxonomy import Told, make_known, make_stated
from triplecast.index import MemoryIndex, Segment, Snapshot
from triplecast.match import Matcher
from triplecast.match.pairs import Scratch, match_ids
from triplecast.match.readings import Readings
from triplecast.match.views import encode, scan_views
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId
from triplecast.taxonomy import Taxonomies, TaxonomyVersion

COST = 2.0
"""Times that of equality alone, at most."""


class _Index:
    """One way of telling it, indexed."""

    def __init__(self, told: Told) -> None:
        self.told = told
        registrations = [Registration(RegistrationId(i), given) for i, given in enumerate(told.subscriptions, 1)]
        self.snapshot: Snapshot = MemoryIndex().apply(registrations, [], len(registrations))
        self.publications = to_publications(told.workload)
        self.size = (told.workload.name, len(registrations))
        self.taxonomies = Taxonomies((TaxonomyVersion(0, told.taxonomy.lines, False),))
        self._readings = Readings()
        self._scratch: dict[Segment, Scratch] = {segment: Scratch(segment) for segment in self.snapshot.segments}

    def match_bytes(self) -> int:
        """N-Triples bytes in, ids out; how many pairs."""
        taxonomy = self.taxonomies.before(self.publications[0].position)
        found = 0
        for batch in in_batches(self.publications):
            readings = self._readings.of(self.snapshot.segments, taxonomy, scan_views(batch))
            for segment in self.snapshot.segments:
                views, _ = readings.views(segment.reading)
                found += len(match_ids(segment, views, encode(segment, views), self._scratch[segment])[0])
        return found

    def ids_in(self) -> tuple[Callable[[], object], int]:
        """What matches publications that are encoded already, and how many pairs that gives."""
        taxonomy = self.taxonomies.before(self.publications[0].position)
        encoded = []
        for batch in in_batches(self.publications):
            readings = self._readings.of(self.snapshot.segments, taxonomy, scan_views(batch))
            for segment in self.snapshot.segments:
                views, _ = readings.views(segment.reading)
                encoded.append((segment, views, encode(segment, views), self._scratch[segment]))
        return lambda: [match_ids(*each) for each in encoded], sum(len(match_ids(*each)[0]) for each in encoded)


def measure_taxonomy(subscriptions: int, publications: int) -> Iterator[Figure]:
    stated, known = _Index(make_stated(subscriptions, publications)), _Index(make_known(subscriptions, publications))
    _check(stated, known)
    for scenario, runs in (
        ("ids in", [(index, index.ids_in()[0]) for index in (stated, known)]),
        ("N-Triples bytes in, ids out", [(index, index.match_bytes) for index in (stated, known)]),
    ):
        timings: list[Timing] = []
        for index, run in runs:
            timings.append(time_runs(run))
            work = {"matches": index.match_bytes() / publications}
            yield make_rate(scenario, index.size, timings[-1], publications, work=work)
        cost = timings[1].processor / timings[0].processor
        yield Figure(f"{scenario}: known over stated, core time", *known.size, cost, "times", target=at_most(COST))


def _check(stated: _Index, known: _Index) -> None:
    """Both give the same bindings for the same pairs. Raises ValueError."""
    batch: list[Publication] = list(stated.publications[:100])
    with Matcher() as matcher:
        one = matcher.match(stated.snapshot, batch, stated.taxonomies)
        other = matcher.match(known.snapshot, list(known.publications[:100]), known.taxonomies)
    same = np.array_equal(one.publication, other.publication) and np.array_equal(one.registration, other.registration)
    if not same or not np.array_equal(one.bindings, other.bindings):
        raise ValueError(f"classes stated give {len(one)} matches, classes known {len(other)}, or other bindings")
