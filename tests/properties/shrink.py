"""A failing pair made as small as it stays failing: fewer triples, a smaller query, a plainer spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace

from tests.properties.generate import Asked, Published
from tests.reference import queries as q
from tests.reference.fulltext import Both, Either, Filtered, Never

StillFails = Callable[[Published, Asked], bool]


def shrink(published: Published, asked: Asked, fails: StillFails, tries: int = 2_000) -> tuple[Published, Asked]:
    """The smallest failing pair that greedy steps reach; `fails` is asked at most `tries` times."""
    left = tries

    def holds(smaller: Published, question: Asked) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            return False
        try:
            return fails(smaller, question)
        except (SyntaxError, ValueError, TypeError, KeyError):
            return False  # a smaller tree need not be a query

    progress = True
    while progress and left > 0:
        progress = False
        for smaller in _fewer_triples(published):
            if holds(smaller, asked):
                published, progress = smaller, True
                break
        else:
            for question in _simpler(asked):
                if holds(published, question):
                    asked, progress = question, True
                    break
    return published, asked


def _fewer_triples(published: Published) -> Iterator[Published]:
    known = published.known
    for at in range(len(known.triples)):
        yield replace(published, known=replace(known, triples=known.triples[:at] + known.triples[at + 1 :]))
    for at, (name, inside) in enumerate(published.named or ()):
        smaller = [(name, inside[:n] + inside[n + 1 :]) for n in range(len(inside))]
        for part in [(), *((each,) for each in smaller if each[1])]:
            yield replace(published, named=published.named[:at] + part + published.named[at + 1 :])
    triples = published.triples
    half = len(triples) // 2
    chunks = [(0, half), (half, len(triples))] if half > 1 else []
    for start, end in chunks + [(at, at + 1) for at in range(len(triples))]:
        yield replace(published, triples=triples[:start] + triples[end:])


def _simpler(asked: Asked) -> Iterator[Asked]:
    if asked.style is not None:
        yield replace(asked, style=None)
    if asked.stated is not None:
        yield replace(asked, stated=None)
    for select in _smaller(asked.query.select):
        if isinstance(select, q.Select):
            yield replace(asked, query=q.Query(asked.query.form, select))


def _smaller(node: object) -> Iterator[object]:
    """Trees that lack one part of `node`."""
    match node:
        case q.Basic(steps) if len(steps) > 1:
            for at in range(len(steps)):
                yield q.Basic(steps[:at] + steps[at + 1 :])
        case q.Join(left, right) | q.Union(left, right) | q.Minus(left, right):
            yield left
            yield right
        case q.Optional(left, right, condition):
            yield left
            yield right
            if condition is not None:
                yield q.Optional(left, right)
        case q.Filter(_, inner) | q.Bind(inner, _, _) | q.Graph(_, inner):
            yield inner
        case q.Logic(_, arguments):
            yield from arguments
        case q.Not(argument):
            yield argument
        case Both(selections) | Either(selections):
            yield from selections
        case Filtered(selection, _, _, _) | Never(selection):
            yield selection
        case q.Member(argument, choices, negated) if len(choices) > 1:
            for at in range(len(choices)):
                yield q.Member(argument, choices[:at] + choices[at + 1 :], negated)
        case q.Values(variables, rows) if len(rows) > 1:
            for at in range(len(rows)):
                yield q.Values(variables, rows[:at] + rows[at + 1 :])
        case q.Chain(first, second) | q.Choice(first, second):
            yield first
            yield second
        case q.Group(inner, keys, counts, having) if having is not None:
            yield q.Group(inner, keys, counts)
        case q.Repeat(inner, _, _) | q.Inverse(inner):
            yield inner
        case q.Select():
            yield from _plainer(node)
    yield from _in_children(node)


def _plainer(select: q.Select) -> Iterator[q.Select]:
    changes = {"variables": None, "distinct": False, "order": (), "offset": 0, "limit": None}
    for name, plain in changes.items():
        if getattr(select, name) != plain:
            yield replace(select, **{name: plain})


def _in_children(node: object) -> Iterator[object]:
    """`node` with one child made smaller."""
    if not is_dataclass(node):
        return
    for field in fields(node):
        child = getattr(node, field.name)
        if is_dataclass(child):
            for smaller in _smaller(child):
                yield replace(node, **{field.name: smaller})
        elif isinstance(child, tuple):
            for at, part in enumerate(child):
                for smaller in _smaller(part) if is_dataclass(part) else ():
                    yield replace(node, **{field.name: (*child[:at], smaller, *child[at + 1 :])})
