"""``python -m benchmarks.peers.mokaccino_engine WAY FOLDER``: mokaccino, a percolator in Rust, by its Python package.

A publication comes as JSON, a list of (field, value), and is a `Document` of them; it has no join to make.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

from mokaccino import Document, Percolator, Query

from benchmarks.peers.protocol import Greeting, resident_bytes, serve
from benchmarks.peers.workload import read_given


class Mokaccino:
    def __init__(self, folder: Path) -> None:
        given = read_given(folder)
        rows = ([(f"p{name}", f"o{value}") for name, value in row] for row in given.publications.tolist())
        self._publications = [json.dumps(row).encode() for row in rows]
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        percolator = Percolator()
        for number, star in enumerate(given.subscriptions.tolist()):
            parts = [Query.from_kv(f"p{name}", f"o{value}") for name, value in star]
            percolator.add_query_id(Query.from_and(parts), number)
        self._percolator = percolator.optimized()
        seconds = time.perf_counter() - start
        told = f"mokaccino {version('mokaccino')}"
        self.greeting = Greeting(told, len(given.subscriptions), seconds, resident_bytes(os.getpid()) - before)

    def prepare(self, first: int, count: int) -> None:
        """Nothing: publications come as bytes."""

    def match(self, first: int, count: int, way: str) -> tuple[list[int], list[int]]:
        publications: list[int] = []
        subscriptions: list[int] = []
        for publication in range(first, first + count):
            document = Document()
            for name, value in json.loads(self._publications[publication]):
                document.add_value(name, value)
            found = self._percolator.percolate_list(document)
            publications += [publication] * len(found)
            subscriptions += found
        return publications, subscriptions


if __name__ == "__main__":
    serve(Mokaccino(Path(sys.argv[2])))
