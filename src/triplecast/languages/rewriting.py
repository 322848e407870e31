"""Passes over the algebra that hold for every node: what it is made of, its depth, replacing constants.

The fields of a node are its ``__slots__``, in the order of its constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pyoxigraph import Literal, NamedNode

from triplecast.model import algebra
from triplecast.model.algebra import Call, Expression, PathExpression, Pattern, Query, Slot, Variable

T = TypeVar("T")
_LEAVES = (Variable, NamedNode, Literal, Slot, str, int, bool, type(None))


def _parts_of(node: object) -> Iterator[Any]:
    """A node, or those of a tuple, and all inside: each before what it holds, from left to right. Does not recurse, so
    any query is safe."""
    waiting: list[Any] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
            continue
        yield part
        if not isinstance(part, _LEAVES):
            waiting.extend(getattr(part, name) for name in reversed(type(part).__slots__))


def nodes_within(node: object) -> Iterator[Any]:
    """A node, or those of a tuple, and all inside but variables and constants, each before what it holds."""
    return (part for part in _parts_of(node) if not isinstance(part, _LEAVES))


def calls_in(pattern: Pattern) -> Iterator[Call]:
    """Yield every call in a pattern, those of ``EXISTS`` too, in order."""
    return (part for part in nodes_within(pattern) if isinstance(part, Call))


def names_of_path(path: PathExpression) -> Iterator[NamedNode | Slot]:
    """Yield the predicates of a path."""
    return (part for part in _parts_of(path) if isinstance(part, NamedNode | Slot))


def measure_depth(query: Query | Expression) -> int:
    """Nodes on the longest way from the root to a leaf. Does not recurse, so any query is safe."""
    deepest = 0
    todo: list[tuple[Any, int]] = [(query, 0)]
    while todo:
        node, depth = todo.pop()
        if isinstance(node, tuple):
            todo.extend((part, depth) for part in node)
        elif not isinstance(node, _LEAVES):
            depth += 1
            deepest = max(deepest, depth)
            todo.extend((getattr(node, name), depth) for name in type(node).__slots__)
    return deepest


def replace_constants(node: T, replace: Callable[[NamedNode | Literal | Slot], Any]) -> T:
    """The same algebra with each constant replaced, in the order of the fields.

    Recurses at most four frames a node; `node` is within `refusals.MAX_DEPTH`.
    """
    kind = type(node)
    if kind is NamedNode or kind is Literal or kind is Slot:
        return replace(node)  # type: ignore[arg-type, no-any-return]
    if kind is tuple:
        return tuple([replace_constants(part, replace) for part in node])  # type: ignore[attr-defined, return-value]
    if kind.__module__ != algebra.__name__ or kind is Variable:
        return node
    return kind(*[replace_constants(getattr(node, name), replace) for name in kind.__slots__])  # type: ignore[attr-defined]
