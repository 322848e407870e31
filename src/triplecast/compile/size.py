"""The largest query allowed: a larger one would delay every publication that it is evaluated against."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from triplecast.errors import QueryRefused
from triplecast.languages import Template
from triplecast.languages.rewriting import names_of_path
from triplecast.model import algebra
from triplecast.model.algebra import Call, Operation, PathPattern, Query, Slot, TriplePattern, Variable

TEMPLATES_LIMIT = 20_000
"""Templates whose size a process remembers."""


class QuerySize(NamedTuple):
    constants: int
    """IRIs and literals, and ``UNDEF`` in ``VALUES``."""
    patterns: int
    """Triple patterns (those that ``CONSTRUCT`` writes too), steps of property paths and clauses that are none, such as
    ``FILTER``, ``VALUES`` or ``OPTIONAL``; not the groups and ``UNION`` that hold them."""
    operators: int
    """Operators, functions and mentions of variables in expressions."""


LARGEST = QuerySize(constants=10_000, patterns=1_000, operators=10_000)


def refuse_large(template: Template) -> None:
    """Raises `QueryRefused`, naming the limit, for a query beyond one of `LARGEST`."""
    excess = _excess(template)
    if excess is not None:
        what, found, most = excess
        raise QueryRefused(
            f"a query of {found:,} {what}",
            f"{most:,} are allowed in one",
            "split it into several subscriptions, or match what the listed terms have in common",
        )


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _excess(template: Template) -> tuple[str, int, int] | None:
    """The first limit that a query is beyond: what is counted, how many it has, how many are allowed."""
    size = measure(template.query, template.slots)
    limits = zip(QuerySize._fields, size, LARGEST, strict=True)
    return next(((what, found, most) for what, found, most in limits if found > most), None)


def measure(query: Query, constants: int) -> QuerySize:
    """The size of a query that has so many constants. Walks without recursion."""
    patterns = operators = 0
    waiting: list[Any] = [query.pattern, *query.template]
    while waiting:
        part = waiting.pop()
        match part:
            case tuple():
                waiting += part
            case PathPattern():
                patterns += sum(1 for _ in names_of_path(part.path))
            case algebra.BasicPattern(triples) if triples:
                waiting += triples
            case algebra.Join(left, right) | algebra.Union(left, right):
                waiting += (left, right)
            case Operation() | Call() | algebra.Aggregate() | algebra.Exists():
                operators += 1
                waiting += _fields(part)
            case Variable():
                operators += 1
            case algebra.Values(_, rows):
                patterns += 1
                constants += sum(row.count(None) for row in rows)
            case TriplePattern() | algebra.BasicPattern():
                patterns += 1
            case algebra.Project(inner, _):
                patterns += 1
                waiting.append(inner)
            case _ if hasattr(part, "__dataclass_fields__") and not isinstance(part, Slot):
                patterns += 1
                waiting += _fields(part)
    return QuerySize(constants, patterns, operators)


def _fields(part: Any) -> list[Any]:
    return [getattr(part, name) for name in part.__dataclass_fields__]
