"""Constant graph names that every solution of a query needs."""

from __future__ import annotations

from collections.abc import Iterator

from triplecast.compile.constants import Constant
from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import children
from triplecast.model import algebra
from triplecast.model.algebra import Pattern, Variable


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
    if isinstance(pattern, algebra.Graph) and not isinstance(pattern.name, Variable):
        yield pattern.name
    if isinstance(pattern, algebra.Join):
        parts = children(pattern)
    elif isinstance(pattern, algebra.Union | algebra.Group):
        parts = ()
    else:
        parts = children(pattern)[:1]
    for part in parts:
        yield from needed_graphs(part)
