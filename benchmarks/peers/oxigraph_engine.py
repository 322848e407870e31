"""``python -m benchmarks.peers.oxigraph_engine SAMPLE FOLDER``: pyoxigraph as an engine, an ASK for each pair.

It has no index of queries, so each of the first SAMPLE subscriptions is asked of each publication's store.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from pathlib import Path

from pyoxigraph import RdfFormat, Store

from benchmarks.peers.protocol import Greeting, serve
from benchmarks.peers.workload import read_given
from benchmarks.workloads.stars import write_publications, write_subscriptions


class Oxigraph:
    def __init__(self, sample: int, folder: Path) -> None:
        given = read_given(folder)
        start = time.perf_counter()
        self._questions = [
            text.replace("SELECT *", "ASK") for text in write_subscriptions(given.subscriptions[:sample])
        ]
        seconds = time.perf_counter() - start
        self._publications = write_publications(given.publications)
        index = sum(map(len, self._questions))
        self.greeting = Greeting(f"pyoxigraph {version('pyoxigraph')}", len(self._questions), seconds, index)

    def prepare(self, first: int, count: int) -> None:
        """Nothing: publications come as bytes."""

    def match(self, first: int, count: int, way: str) -> tuple[list[int], list[int]]:
        publications, subscriptions = [], []
        for publication in range(first, first + count):
            store = Store()
            store.load(self._publications[publication], format=RdfFormat.N_TRIPLES)
            for subscription, question in enumerate(self._questions):
                if store.query(question):
                    publications.append(publication)
                    subscriptions.append(subscription)
        return publications, subscriptions


if __name__ == "__main__":
    serve(Oxigraph(int(sys.argv[1]), Path(sys.argv[2])))
