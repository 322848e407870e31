"""Notifications as one table in SPARQL 1.1 Query Results JSON: a row for each solution, with what it was told of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pyoxigraph import Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.outbox import Notification
from triplecast.results import Head, binding_json, head_of, term_json

MEDIA_TYPE = "application/sparql-results+json"
_OWN = ("sequence", "id", "subscription", "publication", "version", "change")


def results_table(told: Iterable[Notification]) -> dict[str, object]:
    """Columns of the notification come first, each name with an underscore before it, or with as many as no variable
    begins with. Of ASK and of solutions without variables there is a row too."""
    answers = [(each, [*_rows(each)]) for each in told]
    heads = [head_of(each.definition, each.operators, [row for _, row in rows]) for each, rows in answers]
    names = [*dict.fromkeys(name for head in heads for name in head.variables)]
    mark = "_"
    while any(name.startswith(mark) for name in names):
        mark += "_"
    bindings = [
        _own(each, change, mark) | binding_json(Head("select", head.variables), row)
        for (each, rows), head in zip(answers, heads, strict=True)
        for change, row in rows
    ]
    return {"head": {"vars": [*(mark + name for name in _OWN), *names]}, "results": {"bindings": bindings}}


def _rows(told: Notification) -> Iterator[tuple[str, Mapping[str, str]]]:
    rows = told.recorded.rows
    yield from ((told.change if told.change == "present" else "added", row) for row in rows.added)
    yield from (("removed", row) for row in rows.removed)
    for before, after in rows.updated:
        yield "before", before
        yield "after", after
    yield from (("changed", row) for row in rows.changed)


def _own(told: Notification, change: str, mark: str) -> dict[str, dict[str, str]]:
    values: tuple[Term, ...] = (
        Literal(told.sequence),
        Literal(told.id),
        Literal(told.subscription),
        NamedNode(told.publication),
        Literal(told.version),
        Literal(change),
    )
    return {mark + name: term_json(value) for name, value in zip(_OWN, values, strict=True)}
