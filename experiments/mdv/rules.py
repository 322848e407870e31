"""Documents as atoms and subscription rules (sections 2.1, 2.3 and 3.2).

A rule is a conjunction: the text has no *or* either, but says that rules with one "can be split up easily".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

SUBJECT = "rdf#subject"
"""The property whose value is the resource itself (section 3.2): by it, rules register and join resources."""
CLASS = "rdf:type"
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "contains")
ORDERED = ("<", "<=", ">", ">=")
"""Those that compare numbers (section 3.3.4)."""


class Atom(NamedTuple):
    """An RDF statement. Numbers are in canonical form, so that text compares as value where it is asked by ``=``."""

    resource: str
    property: str
    value: str


class Event(NamedTuple):
    """A document is registered, registered anew, or deleted, which is to have no atoms (section 2.2)."""

    document: str
    atoms: frozenset[Atom]


class Step(NamedTuple):
    property: str
    any: bool = False
    """With the operator ``?``: an existential of its own, not that of other paths with the same beginning."""


class Path(NamedTuple):
    variable: str
    steps: tuple[Step, ...] = ()


class Predicate(NamedTuple):
    left: Path
    operator: str
    right: Path | str
    """A constant is a string, also where a number is meant."""


class Search(NamedTuple):
    variable: str
    extension: str
    """A class, or the name of another rule."""


class Rule(NamedTuple):
    """``search extension variable, … register variable where predicate and …``"""

    name: str
    search: Sequence[Search]
    register: str
    where: Sequence[Predicate] = ()


Schema: TypeAlias = Mapping[str, str]
"""The class that a property refers to, of those that refer to resources."""
