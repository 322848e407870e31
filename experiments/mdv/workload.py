"""Section 4: the rule types of figure 10 for the filter, and documents as its atoms.

What the text leaves open, and how it was read, is in `README.md`; the documents are `benchmarks.workloads.mdv`'s, so
that the benchmark and the figures have the same.
"""

from __future__ import annotations

from benchmarks.workloads.mdv import (
    COMP,
    CPU,
    DOMAIN,
    HUB,
    INFORMATION,
    JOIN,
    JOIN_EQUAL,
    OID,
    PATH,
    PROVIDER,
    SERVER,
    RuleBase,
)
from experiments.mdv.rules import Atom, Event, Path, Predicate, Rule, Search, Step

SCHEMA = {INFORMATION: SERVER}


def _of(*properties: str) -> Path:
    return Path("c", tuple(map(Step, properties)))


def make_rule(base: RuleBase, number: int) -> Rule:
    """Of figure 10."""
    structure, constant = base.place(number)
    memory = "memory" if base.structures == 1 else f"memory{structure}"
    path = Predicate(_of(INFORMATION, memory), "=", str(constant))
    server = Predicate(_of(INFORMATION, "cpu"), "=", CPU)
    where = {
        OID: (Predicate(_of(), "=", f"provider{number}"),),
        COMP: (Predicate(_of("synthValue"), ">", str(number)),),
        PATH: (path,),
        HUB: (path,),
        JOIN: (Predicate(_of("serverHost"), "contains", DOMAIN), server, path),
        JOIN_EQUAL: (Predicate(_of("serverHost"), "=", DOMAIN), server, path),
    }
    return Rule(f"rule{number}", (Search("c", PROVIDER),), "c", where[base.kind])


def make_event(base: RuleBase, number: int, turn: int = 0) -> Event:
    """Document `number` is registered, or again in a later turn."""
    return Event(f"document{number}", frozenset(Atom(*fact) for fact in base.make_facts(number, turn)))


def make_deletion(number: int) -> Event:
    return Event(f"document{number}", frozenset())
