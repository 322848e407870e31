"""Who is measured in a figure: the filter as printed, the filter with pairs of rules, and the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from benchmarks.costs import core_seconds
from benchmarks.workloads.mdv import RuleBase, name_graph, read_number, to_triples
from experiments.figures import ENGINE
from experiments.mdv.corrections import AS_PRINTED, CORRECTED, Corrections
from experiments.mdv.updates import Filter
from experiments.mdv.workload import SCHEMA, make_event, make_rule
from triplecast import Document, Subscription
from triplecast import Engine as Triplecast

PRINTED, PAIRS = "as printed", "by pairs of rules"
INSTRUCTIONS = "instructions"
_COUNTED = 20
"""Instructions of SQLite's virtual machine between two calls of who counts them."""

Found = TypeVar("Found")
Matches = frozenset[tuple[int, int]]
"""Numbers of rules with those of documents."""


class Measured(NamedTuple):
    milliseconds: float
    matches: Matches


class Rival(Protocol):
    def register(self, numbers: range) -> Measured:
        """Register documents in one batch; what is asked of each comes in the rival's form, and is not timed."""

    def count(self, numbers: range) -> Mapping[str, float]:
        """The same, and the work that it takes."""

    def close(self) -> None: ...


class RelationalRival:
    """From atoms to names of rules with resources. A database in memory, nothing parsed, nothing durable."""

    def __init__(self, base: RuleBase, corrections: Corrections) -> None:
        self._base = base
        self._filter = Filter(SCHEMA, corrections)
        self._filter.subscribe(make_rule(base, number) for number in range(base.rules))

    def register(self, numbers: range) -> Measured:
        batch = [make_event(self._base, number) for number in numbers]
        milliseconds, change = time_core(lambda: self._filter.apply_together(batch))
        return Measured(
            milliseconds, frozenset((read_number(rule), read_number(resource)) for rule, resource in change.added)
        )

    def count(self, numbers: range) -> Mapping[str, float]:
        calls = 0

        def note() -> None:
            nonlocal calls
            calls += 1

        work, database = self._filter.tables.work, self._filter.tables.database
        work.clear()
        database.set_progress_handler(note, _COUNTED)
        self.register(numbers)
        database.set_progress_handler(None, 0)
        return {**{kind: float(rows) for kind, rows in sorted(work.items()) if rows}, INSTRUCTIONS: calls * _COUNTED}

    def close(self) -> None:
        self._filter.close()


class EngineRival:
    """From N-Triples to receipts with the rows: parsing, versions, journal and outbox in memory are part of it."""

    def __init__(self, base: RuleBase) -> None:
        self._base = base
        self._engine = Triplecast()
        texts = map(base.write_rule, range(base.rules))
        self._engine.subscribe_many(
            [Subscription(str(number), text, scope="repository") for number, text in enumerate(texts)]
        )

    def register(self, numbers: range) -> Measured:
        batch = []
        for number in numbers:
            content = to_triples(self._base.make_facts(number))
            batch.append(Document(name_graph(number), content, "application/n-triples", name_graph(number)))
        milliseconds, receipts = time_core(lambda: self._engine.publish_many(batch))
        pairs = zip(numbers, receipts, strict=True)
        matches = ((int(match.subscription), number) for number, receipt in pairs for match in receipt.matches)
        return Measured(milliseconds, frozenset(matches))

    def count(self, numbers: range) -> Mapping[str, float]:
        self.register(numbers)
        return {}

    def close(self) -> None:
        self._engine.close()


RIVALS: Mapping[str, Callable[[RuleBase], Rival]] = {
    PRINTED: lambda base: RelationalRival(base, AS_PRINTED),
    PAIRS: lambda base: RelationalRival(base, CORRECTED),
    ENGINE: EngineRival,
}


def time_core(run: Callable[[], Found]) -> tuple[float, Found]:
    """Milliseconds of this process and its children, and what was found. Python's collector is to be off."""
    children = core_seconds() - time.process_time()
    start = time.process_time()
    found = run()
    taken = time.process_time() - start
    children = core_seconds() - time.process_time() - children
    return (taken + max(0.0, children)) * 1e3, found
