"""``python -m benchmarks.peers.triplecast_door PLACE FOLDER``: `triplecast.Engine` as an engine, in memory or durable.

Publications are Turtle; each becomes a new publication, with its own graph.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from itertools import count as numbers
from pathlib import Path

from benchmarks.peers.protocol import Greeting, resident_bytes, serve
from benchmarks.peers.workload import read_given
from benchmarks.workloads.stars import write_publications, write_subscriptions
from benchmarks.workloads.texts import to_turtle
from triplecast import FOREVER, Document, Engine, Receipt
from triplecast.model.subscription import Subscription

MEMORY, DURABLE = "in memory", "durable"
SINGLY, BULK = "one by one", "1,000 a call"
_TURTLE, _AT_ONCE = "text/turtle", 1_000


class Door:
    def __init__(self, place: str, folder: Path) -> None:
        given = read_given(folder)
        self._publications = [to_turtle(lines) for lines in write_publications(given.publications)]
        named = [Subscription(f"s{n}", text) for n, text in enumerate(write_subscriptions(given.subscriptions))]
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        self._engine = Engine() if place == MEMORY else Engine.open(tempfile.mkdtemp(dir=folder))
        self._engine.subscribe_many(named, lease=FOREVER)
        self._engine.publish("<urn:a> <urn:b> <urn:c> .", _TURTLE)
        seconds = time.perf_counter() - start
        self.greeting = Greeting("Triplecast", len(named), seconds, resident_bytes(os.getpid()) - before)
        self._graphs = (f"urn:g:{number}" for number in numbers())

    def prepare(self, first: int, count: int) -> None:
        """Nothing: publications come as bytes."""

    def match(self, first: int, count: int, way: str) -> tuple[list[int], list[int]]:
        receipts = self._singly(first, count) if way == SINGLY else self._bulk(first, count)
        publications: list[int] = []
        subscriptions: list[int] = []
        for publication, receipt in enumerate(receipts, first):
            if len(receipt.matches):
                subscriptions += [int(match.subscription[1:]) for match in receipt.matches]
                publications += [publication] * len(receipt.matches)
        return publications, subscriptions

    def _singly(self, first: int, count: int) -> list[Receipt]:
        documents = self._publications[first : first + count]
        return [self._engine.publish(each, _TURTLE, graph) for each, graph in zip(documents, self._graphs)]  # noqa: B905 graphs do not end

    def _bulk(self, first: int, count: int) -> list[Receipt]:
        receipts: list[Receipt] = []
        for at in range(first, first + count, _AT_ONCE):
            documents = self._publications[at : min(at + _AT_ONCE, first + count)]
            given = [Document("d", each, _TURTLE, graph) for each, graph in zip(documents, self._graphs)]  # noqa: B905
            receipts += self._engine.publish_many(given)
        return receipts


if __name__ == "__main__":
    serve(Door(sys.argv[1], Path(sys.argv[2])))
