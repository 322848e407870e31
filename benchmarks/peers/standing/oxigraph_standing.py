"""``python -m benchmarks.peers.standing.oxigraph_standing BASE FOLDER``: pyoxigraph asks again about what changed.

Its store has the documents; before and after each event, a query a structure is asked of the resources that the event
touches (``VALUES``), and the rules' constants are looked up. As no rule is asked by itself, this is the kindest use.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version

import pyoxigraph as ox

from benchmarks.peers.protocol import Greeting, resident_bytes
from benchmarks.peers.standing.serving import REMOVED, Document, Pairs, read_base, serve
from benchmarks.workloads.mdv import COMP, NAMESPACE, OID, RuleBase, read_number, to_triples

_PATTERNS = {
    OID: "?c a :CycleProvider BIND(?c AS ?v)",
    COMP: "?c a :CycleProvider ; :synthValue ?v",
}
_BY_REFERENCE = "?c a :CycleProvider ; :serverInformation ?s . ?s a :ServerInformation ; :memory{0} ?v . "
_MORE = {
    "JOIN": "?c :serverHost ?h . ?s :cpu 600 FILTER(CONTAINS(?h, 'uni-passau.de'))",
    "JOIN by =": "?c :serverHost 'uni-passau.de' . ?s :cpu 600",
}
_Rows = set[tuple[int, int, str]]
"""Resource, structure, and the value that a rule's constant is compared with."""


class Oxigraph:
    def __init__(self, base: RuleBase) -> None:
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        self._base = base
        self._store = ox.Store()
        self._current: dict[int, set[ox.Quad]] = {}
        self._rules = {base.place(number): number for number in range(base.rules)}
        self._texts = [*self._write_queries()]
        told = f"pyoxigraph {version('pyoxigraph')}"
        self.greeting = Greeting(told, base.rules, time.perf_counter() - start, resident_bytes(os.getpid()) - before)

    def _write_queries(self) -> Iterator[tuple[int, str]]:
        """By structure, with a place for what was touched: the provider, or what it refers to."""
        for structure in range(self._base.structures):
            suffix = "" if self._base.structures == 1 else str(structure)
            body = _PATTERNS.get(self._base.kind, _BY_REFERENCE.format(suffix) + _MORE.get(self._base.kind, ""))
            for touched in ("?c", "?s") if "?s" in body else ("?c",):
                text = f"PREFIX : <{NAMESPACE}> SELECT DISTINCT ?c ?v {{ VALUES {touched} {{ %s }} {body} }}"
                yield structure, text

    def prepare(self, documents: Sequence[Document]) -> list[tuple[int, bytes]]:
        return [(number, to_triples(facts)) for number, facts in documents]

    def apply(self, prepared: list[tuple[int, bytes]]) -> list[tuple[_Rows, _Rows]]:
        return [self._take(number, content) for number, content in prepared]

    def _take(self, number: int, content: bytes) -> tuple[_Rows, _Rows]:
        parsed = {*ox.parse(content, format=ox.RdfFormat.N_TRIPLES)}
        known = self._current.pop(number, set())
        if parsed:
            self._current[number] = parsed
        gone, come = known - parsed, parsed - known
        touched = " ".join(sorted({str(quad.subject) for quad in gone | come}))
        before = self._ask(touched)
        for quad in gone:
            self._store.remove(quad)
        self._store.extend(come)
        after = self._ask(touched)
        return after - before, before - after

    def _ask(self, touched: str) -> _Rows:
        found: _Rows = set()
        for structure, text in self._texts:
            rows = self._store.query(text % touched)
            assert isinstance(rows, ox.QuerySolutions)
            found |= {(read_number(row["c"].value), structure, row["v"].value) for row in rows}
        return found

    def read(self, found: list[tuple[_Rows, _Rows]]) -> Pairs:
        for added, removed in found:
            if self._base.kind == COMP:
                yield from self._read_ranges(added, removed)
                continue
            for mark, rows in ((0, added), (REMOVED, removed)):
                for resource, structure, value in rows:
                    rule = self._rules.get((structure, read_number(value)))
                    if rule is not None:
                        yield resource, rule + mark

    def _read_ranges(self, added: _Rows, removed: _Rows) -> Pairs:
        """The rules that a value exceeds are those below it."""
        now, then = ({resource: int(value) for resource, _, value in rows} for rows in (added, removed))
        for resource in now.keys() | then.keys():
            low, high = sorted((now.get(resource, 0), then.get(resource, 0)))
            mark = 0 if now.get(resource, 0) > then.get(resource, 0) else REMOVED
            yield from ((resource, rule + mark) for rule in range(low, high))


if __name__ == "__main__":
    base = read_base(sys.argv[1])
    serve(Oxigraph(base), base)
