"""``python -m benchmarks.peers.standing.triplecast_standing BASE FOLDER``: rules in repository scope, in a durable
engine; N-Triples in, receipts with the rows out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.protocol import Greeting, resident_bytes
from benchmarks.peers.standing.serving import REMOVED, Document, Pairs, read_base, serve
from benchmarks.workloads.mdv import RuleBase, name_graph, read_number, to_triples
from triplecast import Document as Published
from triplecast import Engine, Receipt, Subscription
from triplecast.kernels.compiling import warm


class Triplecast:
    def __init__(self, base: RuleBase, folder: Path) -> None:
        warm()
        self._engine = Engine.open(folder / "engine")
        texts = [Subscription(str(number), base.write_rule(number), scope="repository") for number in range(base.rules)]
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        self._engine.subscribe_many(texts)
        seconds = time.perf_counter() - start
        self.greeting = Greeting("Triplecast", base.rules, seconds, resident_bytes(os.getpid()) - before)

    def prepare(self, documents: Sequence[Document]) -> list[Published]:
        return [
            Published(name_graph(number), to_triples(facts), "application/n-triples", name_graph(number))
            for number, facts in documents
        ]

    def apply(self, prepared: list[Published]) -> list[Receipt | None]:
        if not prepared[0].data:
            return [self._engine.remove(each.graph or "") for each in prepared]
        if len(prepared) == 1:
            (only,) = prepared
            return [self._engine.publish(only.data, only.media_type, only.graph)]
        return [*self._engine.publish_many(prepared)]

    def read(self, found: list[Receipt | None]) -> Pairs:
        for receipt in found:
            for match in receipt.matches if receipt else ():
                for mark, rows in ((0, match.added), (REMOVED, match.removed)):
                    yield from ((read_number(row["c"].value), int(match.subscription) + mark) for row in rows)


if __name__ == "__main__":
    base = read_base(sys.argv[1])
    serve(Triplecast(base, Path(sys.argv[2])), base)
