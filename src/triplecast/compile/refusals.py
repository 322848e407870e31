"""What compiles to nothing: queries that can never match, and regular expressions that cannot be run."""

from __future__ import annotations

from collections.abc import Iterator

from pyoxigraph import Literal

from triplecast.compile.constants import Constant
from triplecast.errors import QueryRefused
from triplecast.evaluate import check_regexes
from triplecast.languages.rewriting import nodes_within
from triplecast.model.algebra import (
    Call,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Query,
    Reduced,
    Slice,
    Variable,
)


def refuse_no_solutions(query: Query) -> None:
    """Raises `QueryRefused` for ``LIMIT 0``."""
    pattern: Pattern = query.pattern
    while True:
        match pattern:
            case Slice(_, _, 0):
                raise QueryRefused(
                    "LIMIT 0", "the query can never match", "drop LIMIT, or ask for one solution or more"
                )
            case Slice(inner, _, _) | Project(inner, _) | Distinct(inner) | Reduced(inner) | OrderBy(inner, _):
                pattern = inner
            case _:
                return


def refuse_two_graphs(names: tuple[str, ...]) -> None:
    """Raises `QueryRefused` where a publication would have to hold several named graphs and no publication does."""
    if len(names) > 1:
        raise QueryRefused(
            "GRAPH",
            f"a publication is its own only named graph, so it cannot be both {names[0]} and {names[1]}",
            "ask for one of them, or for either with UNION; or publish datasets (`--dataset`)",
        )


def needed_graphs(pattern: Pattern) -> Iterator[Constant]:
    """The constant graph names that every solution needs."""
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
            | LeftJoin(inner, _, _)
            | Minus(inner, _)
        ):
            yield from needed_graphs(inner)


def check_constant_regexes(query: Query) -> None:
    """Raises `QueryRefused` for constant regular expressions that cannot be run (`evaluate.check_regexes`)."""
    found: list[tuple[str, str]] = []
    for call in calls_in(query.pattern):
        if call.function not in ("REGEX", "REPLACE"):
            continue
        flags_at = 2 if call.function == "REGEX" else 3
        pattern = call.arguments[1]
        flags = call.arguments[flags_at] if len(call.arguments) > flags_at else None
        if isinstance(pattern, Literal) and (flags is None or isinstance(flags, Literal)):
            found.append((pattern.value, flags.value if isinstance(flags, Literal) else ""))
    check_regexes(found)


def calls_in(pattern: Pattern) -> Iterator[Call]:
    """Every call in a pattern, those of ``EXISTS`` too, in order."""
    return (part for part in nodes_within(pattern) if isinstance(part, Call))
