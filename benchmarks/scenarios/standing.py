"""Standing queries over all documents: the workloads of the MDV paper, side by side with who else answers them.

Each engine is a process (`peers/standing`). Triplecast is given N-Triples and tells rows, in a durable folder, and so
is the relational filter, which syncs documents and rows; the others are given what they take, and keep nothing.
All tell the same changes, or the run ends.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.figures import Figure, at_least
from benchmarks.peers.standing.contest import (
    DIFFERENTIAL,
    OXIGRAPH,
    RELATIONAL,
    TRIPLECAST,
    Limits,
    Request,
    StandingContest,
)
from benchmarks.workloads.mdv import COMP, HUB, JOIN, JOIN_EQUAL, OID, PATH, RuleBase

ALL = (RELATIONAL, TRIPLECAST, OXIGRAPH, DIFFERENTIAL)
LEAST_AT_ONCE, LEAST_SINGLY = 10_000.0, 1_000.0
"""Documents a second."""
HUB_RULES = 10
RULES_OF_A_STRUCTURE = 10
MOST_CHANGED = 1_000_000
"""Rows that one request changes, at most: they are read and hashed in Python."""


@dataclass(frozen=True, slots=True)
class Extent:
    at_once: int
    """Documents of one call."""
    singly: int
    turns: int
    limits: Limits


WHOLE = Extent(1_000, 100, 3, Limits(build=900.0, request=120.0))
QUICK = Extent(100, 10, 2, Limits(build=60.0, request=10.0))


def measure_standing(rules: int, extent: Extent = WHOLE) -> Iterator[Figure]:
    for kind in (OID, PATH, JOIN_EQUAL, COMP, JOIN):
        yield from _measure(RuleBase(kind, rules), extent)


def measure_structures(counts: Sequence[int], extent: Extent = WHOLE) -> Iterator[Figure]:
    """PATH rules of many different structures, ten each."""
    for structures in counts:
        base = RuleBase(PATH, structures * RULES_OF_A_STRUCTURE, structures=structures)
        yield from _measure(base, extent)


def measure_hub(references: Sequence[int], extent: Extent = WHOLE) -> Iterator[Figure]:
    """One resource to which so many others refer changes: each leaves the answer of one rule and enters another's."""
    for many in references:
        with _open(RuleBase(HUB, HUB_RULES), extent) as contest:
            contest.ask(Request("registered", range(many + 1), extent.at_once))
            changes = [[Request("updated", range(1), 1)] for _ in range(extent.turns)]
            for figure in (*contest.measure(changes, {}), *contest.tell_left_out()):
                yield replace(figure, workload=f"{HUB}, {many:,} references")


def _measure(base: RuleBase, extent: Extent) -> Iterator[Figure]:
    with _open(base, extent) as contest:
        yield from contest.tell_builds()
        changed = base.rules * base.share if base.kind == COMP else 1
        at_once = min(extent.at_once, max(1, int(MOST_CHANGED / changed)))
        turns = [*_plan_turns(extent, at_once)]
        contest.ask(turns.pop(0)[0])  # compiles, and is not counted
        targets = {f"{way}, one by one": at_least(LEAST_SINGLY) for way in ("registered", "updated", "removed")}
        targets |= {f"{way}, {at_once:,} a call": at_least(LEAST_AT_ONCE) for way in ("registered", "updated")}
        yield from contest.measure(turns, {title: target for title, target in targets.items() if target})
        yield from contest.tell_left_out()


def _open(base: RuleBase, extent: Extent) -> StandingContest:
    """Who enters it ends the processes and removes the folder."""
    print(f"standing: {base.name}, {base.rules:,} rules", file=sys.stderr, flush=True)
    return StandingContest(base, ALL, extent.limits)


def _plan_turns(extent: Extent, at_once: int) -> Iterator[list[Request]]:
    """The first is for warming up. A turn's documents come, change, and those that came one by one go."""
    first = 0
    for _ in range(extent.turns + 1):
        many, few = range(first, first + at_once), range(first + at_once, first + at_once + extent.singly)
        first = few.stop
        yield [
            Request("registered", many, at_once),
            Request("registered", few, 1),
            Request("updated", many, at_once),
            Request("updated", few, 1),
            Request("removed", few, 1),
        ]
