"""Section 4: the rule types of figure 10 for the filter, and documents as its atoms.

What the text leaves open, and how it was read, is in `README.md`; the documents are `benchmarks.workloads.mdv`'s, so
that the benchmark and the figures have the same.
"""

from __future__ import annotations

from benchmarks.workloads.mdv import (
    COMP,
    CPU,
    DOMAIN,
    INFORMATION,
    JOIN,
    JOIN_EQUAL,
    OID,
    PATH,
    PROVIDER,
    SERVER,
    make_facts,
)
from experiments.mdv.rules import Atom, Event, Path, Predicate, Rule, Search, Step

SCHEMA = {INFORMATION: SERVER}


def _of(*properties: str) -> Path:
    return Path("c", tuple(map(Step, properties)))


def make_rule(kind: str, number: int) -> Rule:
    """Of figure 10."""
    constant = str(number)
    server = (Predicate(_of(INFORMATION, "cpu"), "=", CPU), Predicate(_of(INFORMATION, "memory"), "=", constant))
    where = {
        OID: (Predicate(_of(), "=", f"provider{number}"),),
        COMP: (Predicate(_of("synthValue"), ">", constant),),
        PATH: (Predicate(_of(INFORMATION, "memory"), "=", constant),),
        JOIN: (Predicate(_of("serverHost"), "contains", DOMAIN), *server),
        JOIN_EQUAL: (Predicate(_of("serverHost"), "=", DOMAIN), *server),
    }
    return Rule(f"rule{number}", (Search("c", PROVIDER),), "c", where[kind])


def make_event(kind: str, number: int, rules: int, turn: int = 0, share: float = 0.1) -> Event:
    """Document `number` is registered, or again in a later turn."""
    facts = make_facts(kind, number, rules, turn, share)
    return Event(f"document{number}", frozenset(Atom(*fact) for fact in facts))


def make_deletion(number: int) -> Event:
    return Event(f"document{number}", frozenset())
