"""Matching while subscriptions are replaced: what a writer does between two batches of publications, in its one thread.

A hundredth of the subscriptions is replaced per minute. Once in `EVERY` seconds those that are due are cancelled in the
journal and as many new ones registered, both synced, and the index folder is brought up to date as `Engine` does it:
a new segment, merges, a manifest; worn segments are made again in a thread. Publications then meet the new snapshot,
and pairs of cancelled registrations are left out. All of that is time that the matching loses.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from benchmarks.figures import Figure, Target, at_least
from benchmarks.scenarios.indexes import in_batches
from benchmarks.steps import encode, match_ids
from benchmarks.workloads import WORKLOADS
from triplecast.index import INDEX, IndexWriter, Segment, SegmentFolder, Snapshot
from triplecast.journal import Journal
from triplecast.kernels.layout import Encoded
from triplecast.kernels.views import Views
from triplecast.match.segment import Scratch, Validity
from triplecast.match.views import scan_views
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Subscription
from triplecast.registry.upkeep import Compactor, open_index, update_index

SHARE = 0.01
"""Replaced per minute."""
EVERY = 1.0
"""Seconds between two replacements."""
AT_ONCE = 50_000
"""Subscriptions registered in one transaction before anything is measured."""
_RATES = {("ids in", 1_000_000): 40_000.0, ("N-Triples bytes in, ids out", 1_000_000): 20_000.0}


class Served(NamedTuple):
    """What was done in one stretch of time."""

    publications: int
    matches: int
    seconds: float
    processor: float
    """Core seconds."""
    changes: tuple[float, ...]
    """Seconds that each replacement took."""
    replaced: int


class Registry:
    """A folder with a journal and an index, the publications asked of it, and subscriptions that will replace others.

    The oldest registrations are cancelled first.
    """

    def __init__(self, folder: Path, texts: Sequence[str], spare: Sequence[str], lines: Sequence[bytes]) -> None:
        self._journal = Journal.open(folder)
        self._index = IndexWriter(SegmentFolder(folder / INDEX))
        self._compactor = Compactor(self._index)
        self._live: list[int] = []
        for first in range(0, len(texts), AT_ONCE):
            self._subscribe(texts[first : first + AT_ONCE])
        self.snapshot: Snapshot = open_index(self._index, self._journal, self._journal.head())
        self._spare = iter(spare)
        after = 2**40
        """The publications' positions, after all that will be registered."""
        self.batches = [
            list(batch)
            for batch in in_batches(
                [Publication(Position(after + at), f"urn:bench:{at}", 1, "", text) for at, text in enumerate(lines)]
            )
        ]
        self._views = [scan_views(batch) for batch in self.batches]
        self._encoded: WeakKeyDictionary[Segment, list[Encoded | None]] = WeakKeyDictionary()
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()

    def close(self) -> None:
        self._compactor.close()
        self._journal.close()

    def _subscribe(self, texts: Sequence[str]) -> None:
        first = len(self._live) + self._journal.head()
        named = [Subscription(f"s{first}-{number}", text) for number, text in enumerate(texts)]
        self._live += [int(found.id) for found in self._journal.subscribe(named)]

    def replace(self, count: int) -> None:
        """Cancels the `count` oldest, registers as many new ones and brings the index up to date."""
        matched = self._journal.head()
        self._journal.cancel(self._live[:count])
        del self._live[:count]
        self._subscribe([text for text, _ in zip(self._spare, range(count), strict=False)])
        if update_index(self._index, self._journal, matched):
            self.snapshot = self._index.snapshot()
        if self._compactor.look():
            self.snapshot = self._index.snapshot()

    def ids_in(self, number: int) -> int:
        """Matches of a batch whose terms were numbered before for every segment that stood then."""
        views = self._views[number]
        return self._match(
            number, views, [(segment, self._known(segment, number)) for segment in self.snapshot.segments]
        )

    def bytes_in(self, number: int) -> int:
        """Matches of a batch that comes as N-Triples."""
        views = scan_views(self.batches[number])
        return self._match(number, views, [(segment, encode(segment, views)) for segment in self.snapshot.segments])

    def _known(self, segment: Segment, number: int) -> Encoded:
        kept = self._encoded.setdefault(segment, [None] * len(self.batches))
        encoded = kept[number]
        if encoded is None:
            encoded = kept[number] = encode(segment, self._views[number])
        return encoded

    def _match(self, number: int, views: Views, parts: Sequence[tuple[Segment, Encoded]]) -> int:
        validity, found = Validity(self.snapshot, self.batches[number]), 0
        for segment, encoded in parts:
            scratch = self._scratch.get(segment)
            if scratch is None:
                scratch = self._scratch[segment] = Scratch(segment)
            publication, member = match_ids(segment, views, encoded, scratch)
            found += int(np.count_nonzero(validity.holds(publication, segment.tables.registrations[member])))
        return found


def measure_replaced(name: str, subscriptions: int, publications: int, seconds: float) -> Iterator[Figure]:
    """Each way of asking for `seconds` without and `seconds` with replacements."""
    per_second = subscriptions * SHARE / 60
    workload = WORKLOADS[name](subscriptions + 2 * int(per_second * (seconds + 10 * EVERY)) + 2, publications)
    texts = workload.subscriptions
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        registry = Registry(Path(folder), texts[:subscriptions], texts[subscriptions:], workload.publications)
        try:
            for scenario, match in (
                ("ids in", registry.ids_in),
                ("N-Triples bytes in, ids out", registry.bytes_in),
            ):
                for number in range(len(registry.batches)):
                    match(number)
                target = at_least(_RATES.get((scenario, subscriptions)))
                yield from _compare(scenario, (name, subscriptions), registry, match, (per_second, seconds), target)
        finally:
            registry.close()


def _compare(
    scenario: str,
    size: tuple[str, int],
    registry: Registry,
    match: Callable[[int], int],
    pace: tuple[float, float],
    target: Target | None,
) -> Iterator[Figure]:
    """`pace`: replacements per second, and seconds."""
    per_second, seconds = pace
    still = serve(registry, match, 0.0, seconds)
    moving = serve(registry, match, per_second, seconds)
    yield Figure(
        f"{scenario}, none replaced", *size, still.publications / still.seconds, "publications/s", work=_work(still)
    )
    work = {
        **_work(moving),
        "replaced": float(moving.replaced),
        "segments": float(len(registry.snapshot.segments)),
        "removals": float(len(registry.snapshot.removals.registration)),
    }
    rate = moving.publications / moving.seconds
    yield Figure(f"{scenario}, 1 % replaced per minute", *size, rate, "publications/s", work=work, target=target)
    lost = (moving.processor / moving.publications) / (still.processor / still.publications)
    yield Figure(f"{scenario}: with replacements over without, core time", *size, lost, "times")
    changes = sorted(moving.changes)
    yield Figure(
        f"{scenario}: one second's replacements, median",
        *size,
        changes[len(changes) // 2] * 1e3,
        "ms",
        changes[0] * 1e3,
        changes[-1] * 1e3,
        work={"subscriptions": moving.replaced / len(changes)},
    )


def _work(served: Served) -> dict[str, float]:
    return {
        "matches": served.matches / served.publications,
        "per core second": served.publications / served.processor,
    }


def serve(registry: Registry, match: Callable[[int], int], per_second: float, seconds: float) -> Served:
    """Batches one after the other for `seconds`; between two of them, once in `EVERY` seconds, the replacements due."""
    publications = matches = replaced = 0
    changes: list[float] = []
    start, core = time.perf_counter(), time.process_time()
    for number in cycle(range(len(registry.batches))):
        now = time.perf_counter() - start
        if now >= seconds:
            break
        due = int(now // EVERY * EVERY * per_second) - replaced
        if due > 0:
            registry.replace(due)
            replaced += due
            changes.append(time.perf_counter() - start - now)
        matches += match(number)
        publications += len(registry.batches[number])
    end = time.perf_counter() - start
    return Served(publications, matches, end, time.process_time() - core, tuple(changes), replaced)
