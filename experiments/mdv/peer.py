"""``python -m experiments.mdv.peer BASE FOLDER``: the relational filter as a peer in the benchmark of standing queries
(`benchmarks/scenarios/standing.py`), which starts it as a process, as it does every peer.

It is the filter with its corrections, but that a batch is taken as a whole: its joins are in a fixed order, nothing is
parsed, and its database is in memory.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from benchmarks.peers.protocol import Greeting, resident_bytes
from benchmarks.peers.standing.serving import REMOVED, Document, Pairs, read_base, serve
from benchmarks.workloads.mdv import RuleBase, read_number
from experiments.mdv.rules import Atom, Event
from experiments.mdv.updates import Change, Filter
from experiments.mdv.workload import SCHEMA, make_rule


class Relational:
    def __init__(self, base: RuleBase) -> None:
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        self._filter = Filter(SCHEMA)
        self._filter.subscribe(make_rule(base, number) for number in range(base.rules))
        seconds = time.perf_counter() - start
        self.greeting = Greeting("MDV's filter", base.rules, seconds, resident_bytes(os.getpid()) - before)

    def prepare(self, documents: Sequence[Document]) -> list[Event]:
        return [Event(f"document{number}", frozenset(Atom(*fact) for fact in facts)) for number, facts in documents]

    def apply(self, prepared: list[Event]) -> Change:
        return self._filter.apply_together(prepared)

    def read(self, found: Change) -> Pairs:
        for mark, told in ((0, found.added), (REMOVED, found.removed)):
            yield from ((read_number(resource), read_number(rule) + mark) for rule, resource in told)


if __name__ == "__main__":
    base = read_base(sys.argv[1])
    serve(Relational(base), base)
