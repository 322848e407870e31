"""The algebra that every language is parsed to (SPARQL 1.1 Query, section 18), as frozen values.

A blank node of a query is a `Variable` whose name starts with ``_:``, which ``SELECT *`` does not project. Prefixed and
relative names are resolved; language tags are lower case; a path that is a lone IRI is a `TriplePattern`. A *template*
is the same algebra with `Slot` in place of constants.

A term's identity everywhere is its canonical N-Triples form (RDF 1.1 N-Triples, section 4: ``"x"`` without datatype for
xsd:string, escapes only where required).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

Term: TypeAlias = NamedNode | BlankNode | Literal
"""A term as published or written, with its lexical form, datatype and (lower-case) language tag."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    """Without the question mark; ``_:b0`` for a blank node of the query."""

    @property
    def hidden(self) -> bool:
        return self.name.startswith("_:")


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of constant number `index` in a template."""

    index: int


Node: TypeAlias = Variable | NamedNode | Literal | Slot


# ---- expressions (section 17) ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """A built-in operation: ``|| && ! = != < <= > >= + - * / u+ u-``, or ``in`` and ``not in`` of the first argument
    among the others."""

    operator: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in function by its upper-case keyword (``REGEX``, ``BOUND``, ``IF``, …) or any other by its IRI.

    ``IRI`` and ``URI`` have the query's base, if declared, as second argument. ``NUMBER`` and ``TEXT`` are RDQL's
    coercions (`terms.casts`); a constant that is read as a number is inside ``NUMBER``.
    """

    function: str
    arguments: tuple[Expression, ...]
    free: int | None = None
    """Of an operator's call, how many terms each result has: none for a condition. None for any other function."""

    @property
    def of_operator(self) -> bool:
        return self.free is not None


@dataclass(frozen=True, slots=True)
class Exists:
    pattern: Pattern
    negated: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value of all rows of a group: ``COUNT``, ``SUM``, ``MIN``, ``MAX``, ``AVG``, ``SAMPLE`` or ``GROUP_CONCAT``.
    Only ``COUNT(*)`` has no `argument`."""

    function: str
    argument: Expression | None
    distinct: bool
    separator: str | None = None


Expression: TypeAlias = Variable | NamedNode | Literal | Slot | Operation | Call | Exists


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all inside it, each before its arguments, from left to right, but nothing inside the
    pattern of an `Exists`. Does not recurse, so any depth is safe."""
    pending = [expression]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Operation | Call):
            pending.extend(reversed(part.arguments))


def variables_in(expression: Expression) -> Iterator[Variable]:
    """Return the variables of an expression from left to right, without those inside ``EXISTS``."""
    return (part for part in subexpressions(expression) if isinstance(part, Variable))


# ---- property paths (section 9) --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inverse:
    path: PathExpression


@dataclass(frozen=True, slots=True)
class Sequence:
    steps: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    choices: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``p*`` (0, many), ``p+`` (1, many), ``p?`` (0, one)."""

    path: PathExpression
    at_least: int
    many: bool


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """``!(:a|^:b)``: the forward and inverse predicates excluded."""

    forward: tuple[NamedNode | Slot, ...]
    inverse: tuple[NamedNode | Slot, ...]


PathExpression: TypeAlias = NamedNode | Slot | Inverse | Sequence | Alternative | Repeat | NegatedSet


# ---- patterns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriplePattern:
    subject: Node
    predicate: Node
    object: Node


@dataclass(frozen=True, slots=True)
class PathPattern:
    subject: Node
    path: PathExpression
    object: Node


@dataclass(frozen=True, slots=True)
class BasicPattern:
    """A basic graph pattern of triples and paths; without any it has one empty solution."""

    triples: tuple[TriplePattern | PathPattern, ...]


@dataclass(frozen=True, slots=True)
class Join:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    left: Pattern
    right: Pattern
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expression
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Union:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Graph:
    name: Variable | NamedNode | Slot
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Extend:
    """``BIND(expression AS variable)`` and ``SELECT (expression AS ?variable)``."""

    pattern: Pattern
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Produce:
    """A property function: join each solution of `pattern` with each row that an operator returns for it.

    The operator takes the arguments that are not `free`; a solution that leaves one unbound is dropped. A free variable
    is bound by its place in the row; a constant or bound variable there keeps the rows that have its term."""

    pattern: Pattern
    operator: str
    arguments: tuple[Node, ...]
    free: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Minus:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Values:
    """Rows of terms, one for each of `variables`; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[NamedNode | Literal | Slot | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """``GROUP BY`` `keys`, which an `Extend` below binds if they are expressions; each aggregate binds a variable.

    Without keys there is exactly one group, even of no solutions. ``HAVING`` is a `Filter` above.
    """

    pattern: Pattern
    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class OrderBy:
    """``ORDER BY``: expressions in order, each with True for descending."""

    pattern: Pattern
    conditions: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class Project:
    pattern: Pattern
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Reduced:
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Slice:
    pattern: Pattern
    offset: int
    limit: int | None


Modifier: TypeAlias = Project | Distinct | Reduced | OrderBy | Slice
"""Solution modifiers."""
Pattern: TypeAlias = (
    BasicPattern | Join | LeftJoin | Filter | Union | Graph | Extend | Produce | Minus | Values | Group | Modifier
)
"""A sub-select is a `Project`, or what wraps it, inside another pattern; its hidden variables are local to it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query; `pattern` includes the modifiers (`Project`, `Distinct`, `OrderBy`, `Slice`)."""

    form: str
    """``select``, ``ask`` or ``construct``."""
    pattern: Pattern
    variables: tuple[Variable, ...]
    """The projected variables of a ``select`` in order, all visible ones of a ``construct``, none of an ``ask``."""
    template: tuple[TriplePattern, ...] = ()
    """The triples of a ``construct``; its blank nodes are hidden variables that WHERE does not bind."""


def to_ntriples(term: Term) -> str:
    return str(term)


def from_ntriples(text: str) -> Term:
    """Return the term that `to_ntriples` wrote. Raises ValueError for text that is not the form of one term."""
    if text.startswith("<") and text.endswith(">") and "\\" not in text:
        return NamedNode(text[1:-1])
    if text.startswith("_:"):
        return BlankNode(text[2:])
    try:
        (quad,) = parse(f"<x:s> <x:p> {text} .".encode(), format=RdfFormat.N_TRIPLES)
    except SyntaxError as error:
        raise ValueError(f"not a term in N-Triples form: {text!r}") from error
    value = quad.object
    if not isinstance(value, NamedNode | BlankNode | Literal):
        raise ValueError(f"a triple term is not supported: {text!r}")
    return value
