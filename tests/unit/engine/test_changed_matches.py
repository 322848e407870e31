"""Matches of a receipt whose rows an event added, removed or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from triplecast.engine import Match
from triplecast.engine.findings import Findings, Subscriptions
from triplecast.model.algebra import from_ntriples
from triplecast.model.match import CHANGES, changed_bindings, notification_id
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.subscription import Subscription
from triplecast.outbox.batch import OutboxBatch, OutboxRow, PublicationName

ONE, TWO = b'[{"x":"<urn:1>"}]', b'[{"x":"<urn:2>"},{"x":"<urn:3>"}]'
QUERIES = ("SELECT ?x { ?x ?p ?o }", "ASK { ?x ?p ?o }", "CONSTRUCT { ?x a _:b } { ?x ?p ?o }")


def matches(query: str, ask: bool = False) -> Sequence[Match]:
    """One match of each kind of change, each of a publication of its own."""
    one, two = (b"[{}]", b"[{}]") if ask else (ONE, TWO)
    of_word = {"added": one, "present": one, "removed": two, "changed": changed_bindings(one, two)}
    texts = [of_word[kind.word] for kind in CHANGES]
    rows = [OutboxRow(place, 7, number, text.decode()) for place, (number, text) in enumerate(enumerate(texts), 1)]
    told = OutboxBatch.of_rows(rows, {row.position: PublicationName(row.position, "urn:g", 2, "") for row in rows})
    findings = Findings()
    findings.add(told, Subscriptions(told.registration, lambda _: named(query)), NO_OPERATORS)
    return findings.matches(range(1, len(CHANGES) + 1))


def named(query: str) -> Mapping[int, Subscription]:
    return {7: Subscription("rail", query)}


def test_a_match_says_what_was_added_and_what_removed() -> None:
    one = [{"x": from_ntriples("<urn:1>")}]
    two = [{"x": from_ntriples("<urn:2>")}, {"x": from_ntriples("<urn:3>")}]
    of_word = {"added": (one, []), "removed": ([], two), "changed": (one, two), "present": (one, [])}
    found = matches(QUERIES[0])
    assert [match.change for match in found] == [kind.word for kind in CHANGES]
    assert [(match.added, match.removed) for match in found] == [of_word[kind.word] for kind in CHANGES]
    assert all(match.bindings == match.added for match in found)
    assert [match.notification for match in found] == [notification_id("urn:g", 2, 7, n) for n in range(len(CHANGES))]


def test_the_answer_as_json_is_of_the_rows_added_with_those_removed_beside_it() -> None:
    added, removed, changed, *_ = matches(QUERIES[0])
    term = [{"x": {"type": "uri", "value": f"urn:{n}"}} for n in (1, 2, 3)]
    head = {"vars": ["x"]}
    one, two = ({"head": head, "results": {"bindings": rows}} for rows in (term[:1], term[1:]))
    none = {"head": head, "results": {"bindings": []}}
    assert added.recorded.row() == {"answer": one}
    assert removed.recorded.row() == {"answer": none, "removed": two}
    assert changed.recorded.row() == {"answer": one, "removed": two}
    assert [match.answer for match in (added, removed, changed)] == [one, none, one]


def test_the_answer_of_ask_is_whether_a_row_was_added() -> None:
    _, removed, *_ = matches(QUERIES[1], ask=True)
    assert removed.recorded.row() == {
        "answer": {"head": {}, "boolean": False},
        "removed": {"head": {}, "boolean": True},
    }


def test_a_graph_is_made_of_the_rows_added() -> None:
    added, removed, changed, *_ = matches(QUERIES[2])
    assert [len(match.graph) for match in (added, removed, changed)] == [1, 0, 1]
    assert removed.recorded.row()["graph"] == ""


@pytest.mark.parametrize("query", QUERIES)
def test_rows_removed_are_shown_as_removed(query: str) -> None:
    is_ask = query.startswith("ASK")
    added, removed, changed, *_ = matches(query, is_ask)
    one, two = ("yes", "yes") if is_ask else ("?x=<urn:1>", "?x=<urn:2>")
    more = 0 if is_ask else 1
    assert added.recorded.firsts() == [(one, 0)]
    assert removed.recorded.firsts() == [(f"- {two}", more)]
    assert changed.recorded.firsts() == [(f"+ {one}", 0), (f"- {two}", more)]
    assert "rail matches urn:g v2" in added._repr_html_()
    assert "<td>-</td>" not in added._repr_html_()
    assert "rail: rows removed by urn:g v2" in removed._repr_html_()
    assert removed._repr_html_().count("<td>-</td>") == more + 1
    assert "<td>+</td>" not in removed._repr_html_()
    assert changed._repr_html_().count("<tr><td>") == more + 2
