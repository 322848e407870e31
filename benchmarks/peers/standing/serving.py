"""How a scenario talks to who answers standing queries: `peers.protocol`, with documents that come, change and go.

An engine is started with a rule base as JSON. Each line ``first count way`` has documents ``first`` to ``first +
count``, one after the other, ``registered``, ``updated`` to their next turn or ``removed``, so many a call: ``updated
1000``. It answers with the changed pairs, hashed: a document number and a rule, where `REMOVED` is added to the rule of
a row that went. `differential/src/main.rs` speaks the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Protocol, TypeAlias, TypeVar

from benchmarks.costs import core_seconds
from benchmarks.peers.answers import hash_pairs
from benchmarks.peers.protocol import Greeting
from benchmarks.workloads.mdv import Fact, RuleBase

REMOVED = 1 << 31
Document: TypeAlias = tuple[int, Sequence[Fact]]
"""Its number, and its facts; none where it is removed."""
Pairs: TypeAlias = Iterable[tuple[int, int]]


Prepared = TypeVar("Prepared")
Found = TypeVar("Found")


class StandingEngine(Protocol[Prepared, Found]):
    greeting: Greeting

    def prepare(self, documents: Sequence[Document]) -> Prepared:
        """The form in which one call takes them; not timed."""

    def apply(self, prepared: Prepared) -> Found:
        """Take them, event by event, and find what changes."""

    def read(self, found: Found) -> Pairs:
        """The pairs that changed; not timed."""


def serve(engine: StandingEngine[Prepared, Found], base: RuleBase) -> None:
    """Speaks for `engine` on standard input and output until there is no more input."""
    print(json.dumps(asdict(engine.greeting)), flush=True)
    turns: dict[int, int] = {}
    for line in sys.stdin:
        first, count, way, size = line.split()
        numbers = range(int(first), int(first) + int(count))
        calls = [engine.prepare(batch) for batch in _batches(base, numbers, way, int(size), turns)]
        core, start = core_seconds(), time.perf_counter()
        found = [engine.apply(call) for call in calls]
        seconds, core = time.perf_counter() - start, core_seconds() - core
        answer = hash_pairs([pair for each in found for pair in engine.read(each)])
        print(json.dumps({"seconds": seconds, "core": core, **asdict(answer)}), flush=True)


def _batches(
    base: RuleBase, numbers: range, way: str, size: int, turns: dict[int, int]
) -> Iterator[Sequence[Document]]:
    for first in range(0, len(numbers), size):
        batch = []
        for number in numbers[first : first + size]:
            turns[number] = turns.get(number, -1) + 1
            batch.append((number, () if way == "removed" else base.make_facts(number, turns[number])))
        yield batch


def read_base(text: str) -> RuleBase:
    return RuleBase(**json.loads(text))
