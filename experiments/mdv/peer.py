"""``python -m experiments.mdv.peer BASE FOLDER``: the relational filter as a peer in the benchmark of standing queries
(`benchmarks/scenarios/standing.py`), which starts it as a process, as it does every peer.

It is the filter with its corrections, but that a batch is taken as a whole, and its joins are in a fixed order. Like
the engine beside it, it parses N-Triples, and a call returns when documents and told rows are synced to disk; its own
tables are in memory.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox

from benchmarks.peers.protocol import Greeting, resident_bytes
from benchmarks.peers.standing.serving import REMOVED, Document, Pairs, read_base, serve
from benchmarks.workloads.mdv import NAMESPACE, RDF_TYPE, RuleBase, read_number, to_triples
from experiments.mdv.rules import CLASS, Atom, Event
from experiments.mdv.updates import Change, Filter
from experiments.mdv.workload import SCHEMA, make_rule

KEPT = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE document (name TEXT, content BLOB);
CREATE TABLE told (mark INTEGER, rule TEXT, resource TEXT);
"""


class Relational:
    def __init__(self, base: RuleBase, folder: Path) -> None:
        self._kept = sqlite3.connect(folder / "kept.sqlite", isolation_level=None)
        self._kept.executescript(KEPT)
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        self._filter = Filter(SCHEMA)
        self._filter.subscribe(make_rule(base, number) for number in range(base.rules))
        seconds = time.perf_counter() - start
        self.greeting = Greeting("MDV's filter", base.rules, seconds, resident_bytes(os.getpid()) - before)

    def prepare(self, documents: Sequence[Document]) -> list[tuple[str, bytes]]:
        return [(f"document{number}", to_triples(facts)) for number, facts in documents]

    def apply(self, prepared: list[tuple[str, bytes]]) -> Change:
        events = [Event(name, frozenset(read_atoms(content))) for name, content in prepared]
        found = self._filter.apply_together(events)
        told = [(mark, *row) for mark, rows in ((0, found.added), (REMOVED, found.removed)) for row in rows]
        self._kept.execute("BEGIN")
        self._kept.executemany("INSERT INTO document VALUES (?, ?)", prepared)
        self._kept.executemany("INSERT INTO told VALUES (?, ?, ?)", told)
        self._kept.execute("COMMIT")
        return found

    def read(self, found: Change) -> Pairs:
        for mark, told in ((0, found.added), (REMOVED, found.removed)):
            yield from ((read_number(resource), read_number(rule) + mark) for rule, resource in told)


def read_atoms(content: bytes) -> Iterator[Atom]:
    for quad in ox.parse(content, format=ox.RdfFormat.N_TRIPLES):
        subject, predicate, value = quad.subject, quad.predicate.value, quad.object
        assert isinstance(subject, ox.NamedNode)
        assert isinstance(value, ox.NamedNode | ox.Literal)
        name = CLASS if predicate == RDF_TYPE else predicate.removeprefix(NAMESPACE)
        yield Atom(subject.value.removeprefix(NAMESPACE), name, value.value.removeprefix(NAMESPACE))


if __name__ == "__main__":
    base = read_base(sys.argv[1])
    serve(Relational(base, Path(sys.argv[2])), base)
