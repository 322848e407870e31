"""``python -m benchmarks.peers.triplecast_engine WAY FOLDER``: the product as an engine.

The index is built from SPARQL texts, once, in a process of its own, and written to the folder; this process maps the
file, as the product does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.protocol import Greeting, serve
from benchmarks.peers.workload import read_given
from benchmarks.scenarios.indexes import BATCH, to_publications, to_registrations
from benchmarks.steps import encode, match_ids
from benchmarks.workloads.stars import write_publications, write_subscriptions
from benchmarks.workloads.texts import Workload
from triplecast.index import Segment, build_segment
from triplecast.kernels.layout import Encoded
from triplecast.kernels.views import Views
from triplecast.match.segment import Scratch
from triplecast.match.views import scan_views
from triplecast.model.publication import Publication

IDS, BYTES, SINGLY = "ids", "bytes", "singly"
"""Ids in; N-Triples bytes in; the same, a call for each publication."""
_SEGMENT, _BUILT = "segment", "segment.json"
Columns = tuple[NDArray[np.int64], NDArray[np.int64]]


class Triplecast:
    def __init__(self, way: str, folder: Path) -> None:
        if not (folder / _BUILT).exists():
            subprocess.run([sys.executable, "-m", __spec__.name, "build", str(folder)], check=True)
        self._segment = Segment.open(folder / _SEGMENT)
        self._numbers = self._segment.tables.registrations[:] - 1
        self._scratch = Scratch(self._segment)
        texts = write_publications(read_given(folder).publications)
        self._publications = to_publications(Workload("stars", (), texts))
        self._way = way
        self._encoded: tuple[int, int, list[tuple[int, Views, Encoded]]] = (0, 0, [])
        seconds = json.loads((folder / _BUILT).read_text("ascii"))
        index = (folder / _SEGMENT).stat().st_size
        self.greeting = Greeting("Triplecast", len(self._segment), seconds, index)

    def prepare(self, first: int, count: int) -> None:
        if self._way == IDS and self._encoded[:2] != (first, count):
            scanned = ((at, scan_views(batch)) for at, batch in self._cut(first, count, BATCH))
            self._encoded = (first, count, [(at, views, encode(self._segment, views)) for at, views in scanned])

    def match(self, first: int, count: int, way: str) -> Columns:
        if self._way == IDS:
            return _join([self._match(at, views, encoded) for at, views, encoded in self._encoded[2]])
        return _join(list(self._match_bytes(first, count, 1 if self._way == SINGLY else BATCH)))

    def _match_bytes(self, first: int, count: int, size: int) -> Iterator[Columns]:
        for at, batch in self._cut(first, count, size):
            views = scan_views(batch)
            yield self._match(at, views, encode(self._segment, views))

    def _match(self, at: int, views: Views, encoded: Encoded) -> Columns:
        publication, member = match_ids(self._segment, views, encoded, self._scratch)
        return publication + np.int64(at), self._numbers[member]

    def _cut(self, first: int, count: int, size: int) -> Iterator[tuple[int, Sequence[Publication]]]:
        for at in range(first, first + count, size):
            yield at, self._publications[at : min(at + size, first + count)]


def _join(parts: list[Columns]) -> Columns:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def build(folder: Path) -> None:
    """Writes the index and the seconds from texts to the written file, to disk for `Triplecast` to open."""
    texts = write_subscriptions(read_given(folder).subscriptions)
    start = time.perf_counter()
    build_segment(to_registrations(texts)).write(folder / _SEGMENT)
    (folder / _BUILT).write_text(json.dumps(time.perf_counter() - start), "ascii")


if __name__ == "__main__":
    way, place = sys.argv[1], Path(sys.argv[2])
    build(place) if way == "build" else serve(Triplecast(way, place))
