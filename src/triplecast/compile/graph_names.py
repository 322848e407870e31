"""Constant graph names that every solution of a query needs."""

from __future__ import annotations

from collections.abc import Iterator

from triplecast.compile.constants import Constant
from triplecast.errors import QueryRefused
from triplecast.model.algebra import (
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Produce,
    Project,
    Reduced,
    Slice,
    Variable,
)


def refuse_two_graphs(names: tuple[str, ...]) -> None:
    """Refuse a query that needs several named graphs where no publication has them; raises `QueryRefused`."""
    if len(names) > 1:
        raise QueryRefused(
            "GRAPH",
            f"a publication is its own only named graph, so it cannot be both {names[0]} and {names[1]}",
            "name one of them, join both with UNION, or publish datasets (`--dataset`)",
        )


def needed_graphs(pattern: Pattern) -> Iterator[Constant]:
    """Yield the constant graph names that every solution needs."""
    match pattern:
        case Graph(name, inner):
            if not isinstance(name, Variable):
                yield name
            yield from needed_graphs(inner)
        case Join(left, right):
            yield from needed_graphs(left)
            yield from needed_graphs(right)
        case (
            Filter(_, inner)
            | Project(inner, _)
            | Distinct(inner)
            | Reduced(inner)
            | OrderBy(inner, _)
            | Slice(inner, _, _)
            | Extend(inner, _, _)
            | Produce(inner, _, _, _)
            | LeftJoin(inner, _, _)
            | Minus(inner, _)
        ):
            yield from needed_graphs(inner)
