"""The reference's own query tree: SPARQL's algebra (section 18), terms as tuples.

A blank node of a query is a variable whose name starts with ``_:``; it joins like one and is never answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tests.reference.fulltext import Selection
from tests.reference.terms import Term


@dataclass(frozen=True, slots=True)
class Var:
    name: str

    @property
    def hidden(self) -> bool:
        return self.name.startswith("_:")


Node: TypeAlias = Var | Term

# ---- expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    term: Term


@dataclass(frozen=True, slots=True)
class Compare:
    """``= != < <= > >=``"""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logic:
    """``&&`` or ``||`` of two or more."""

    operator: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    argument: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """``IN``, or ``NOT IN`` when `negated`."""

    argument: Expression
    choices: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in function by its upper-case name, arithmetic by its sign."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    pattern: Pattern
    negated: bool


@dataclass(frozen=True, slots=True)
class FullText:
    """``ft:contains``"""

    argument: Expression
    selection: Selection


Expression: TypeAlias = Var | Constant | Compare | Logic | Not | Member | Call | Exists | FullText

# ---- paths -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    predicate: Term


@dataclass(frozen=True, slots=True)
class Inverse:
    path: Path


@dataclass(frozen=True, slots=True)
class Chain:
    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class Choice:
    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class Repeat:
    """``*`` (0, many), ``+`` (1, many), ``?`` (0, one)."""

    path: Path
    at_least: int
    many: bool


@dataclass(frozen=True, slots=True)
class NoneOf:
    """``!(a|^b)``: one step ahead by none of `forward` (if any), one step back by none of `inverse` (if any)."""

    forward: tuple[Term, ...]
    inverse: tuple[Term, ...] = ()


Path: TypeAlias = Link | Inverse | Chain | Choice | Repeat | NoneOf

# ---- patterns ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A triple pattern, or a path pattern when `predicate` is a path."""

    subject: Node
    predicate: Node | Path
    object: Node


@dataclass(frozen=True, slots=True)
class Basic:
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Join:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Optional:
    left: Pattern
    right: Pattern
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expression
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Union:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Values:
    """None is UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Bind:
    pattern: Pattern
    variable: Var
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    name: Node
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Count:
    """``COUNT`` of a variable, or of the solutions; `name` is the variable that it binds."""

    name: Var
    argument: Var | None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """``GROUP BY`` variables, with counts; `having` sees keys and counts. Without keys there is exactly one group."""

    pattern: Pattern
    keys: tuple[Var, ...]
    counts: tuple[Count, ...]
    having: Expression | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """The modifiers of a (sub-)select; `variables` None is ``*``; an order condition has True for descending."""

    pattern: Pattern
    variables: tuple[Var, ...] | None = None
    distinct: bool = False
    order: tuple[tuple[Expression, bool], ...] = ()
    offset: int = 0
    limit: int | None = None
    reduced: bool = False
    """Removes nothing (semantics 1.3)."""


Pattern: TypeAlias = Basic | Join | Optional | Filter | Union | Minus | Values | Bind | Graph | Group | Select


@dataclass(frozen=True, slots=True)
class Query:
    """`form` is ``select``, ``ask`` or ``construct``; `template` only for the last."""

    form: str
    select: Select
    template: tuple[Step, ...] = ()


def variables_of(pattern: Pattern) -> tuple[Var, ...]:
    """The visible variables in scope (SPARQL 18.2.1), in order of appearance: what ``*`` answers."""
    found: dict[Var, None] = {}
    _collect(pattern, found)
    return tuple(variable for variable in found if not variable.hidden)


def _collect(pattern: Pattern, found: dict[Var, None]) -> None:
    match pattern:
        case Basic(steps):
            for step in steps:
                found.update(
                    {node: None for node in (step.subject, step.predicate, step.object) if isinstance(node, Var)}
                )
        case Join(left, right) | Union(left, right) | Optional(left, right):
            _collect(left, found)
            _collect(right, found)
        case Minus(left, _):
            _collect(left, found)
        case Filter(_, inner):
            _collect(inner, found)
        case Values(variables, _):
            found.update(dict.fromkeys(variables))
        case Bind(inner, variable, _):
            _collect(inner, found)
            found[variable] = None
        case Graph(name, inner):
            if isinstance(name, Var):
                found[name] = None
            _collect(inner, found)
        case Group(_, keys, counts, _):
            found.update(dict.fromkeys((*keys, *(each.name for each in counts))))
        case Select(inner, variables):
            found.update(dict.fromkeys(variables_of(inner) if variables is None else variables))
