"""Declarations: what the decorator registers, what it refuses, and how operators are found."""

from __future__ import annotations

import pytest
from pyoxigraph import Dataset, NamedNode, Quad

from triplecast.errors import InputError
from triplecast.operators import PublicationView, Unanswerable, declared_operators, operator
from triplecast.operators.declaration import load

IRI = "https://example.org/declared#"


@operator(IRI + "near", version="3", arguments=("bound", "bound", "free"), cost=0.5, seconds=2)
def near(event: PublicationView, left: object, right: object) -> float:
    """How near two things are.

    And more of it."""
    return 1.0


def test_the_decorator_registers_and_leaves_the_function_alone() -> None:
    found = declared_operators().find(IRI + "near")
    assert found is not None
    assert (found.version, found.bound, found.free, found.cost, found.seconds) == ("3", 2, 1, 0.5, 2.0)
    assert found.about == "How near two things are."
    assert found.signature == f"<{IRI}near>(bound, bound, free)"
    assert load(found) is near
    assert near(PublicationView(NamedNode("x:g"), 1, {}, b""), 1, 2) == 1.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"iri": "no iri"}, "no absolute IRI"),
        ({"version": ""}, "version of"),
        ({"version": 1}, "version of"),
        ({"version": "\ud800"}, "version of"),
        ({"version": "a\nb"}, "version of"),
        ({"version": "1" * 201}, "version of"),
        ({"arguments": "bound"}, "arguments of"),
        ({"arguments": ("bound", "open")}, "arguments of"),
        ({"cost": 0}, "cost of"),
        ({"cost": 10**400}, "cost of <.*> is too large"),
        ({"seconds": -1}, "seconds of"),
        ({"seconds": 2_200_000}, "seconds of"),
        ({"seconds": 1e300}, "seconds of"),
        ({"memory": True}, "memory of"),
        ({"memory": 1.5}, "memory of"),
        ({"memory": 10**30}, "memory of <.*> is too large"),
        ({"arguments": ("bound", "free")}, "declared with 1 bound"),
    ],
)
def test_what_cannot_be_declared(given: dict[str, object], told: str) -> None:
    declared = {"iri": IRI + "wrong", "version": "1", "arguments": ("bound", "bound", "free"), **given}
    with pytest.raises(InputError, match=told):
        operator(**declared)(near)  # type: ignore[arg-type]
    assert declared_operators().find(IRI + "wrong") is None


@pytest.mark.parametrize(("given", "told"), [((IRI + "x",), "the version of"), ((IRI + "x", "1"), "the arguments of")])
def test_what_a_declaration_leaves_out_is_told(given: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=f"{told} <{IRI}x> .*give"):
        operator(*given)(near)


def test_a_decorator_without_its_arguments_is_told() -> None:
    with pytest.raises(InputError, match="cannot name an operator: it is no absolute IRI; write @operator"):
        operator(near)(near)  # type: ignore[arg-type]


def test_a_function_that_no_worker_can_find_is_refused() -> None:
    def inside(event: PublicationView, term: object) -> bool:
        return True

    for function in (inside, lambda event, term: True, print):
        with pytest.raises(InputError, match="top level of a module"):
            operator(IRI + "inside", version="1", arguments=("bound",))(function)


def test_an_event_has_graph_and_attachments() -> None:
    event = PublicationView(NamedNode("x:g"), 2, {"x:a": b"bytes"}, b"<x:s> <x:p> <x:o> .\n")
    assert list(event.graph) == [Quad(NamedNode("x:s"), NamedNode("x:p"), NamedNode("x:o"))]
    assert len(event.graph) == len([*event.graph.quads_for_subject(NamedNode("x:s"))]) == 1
    assert not [*event.graph.quads_for_predicate(NamedNode("x:s"))]
    assert not any(hasattr(event.graph, name) for name in ("add", "remove", "discard", "clear", "canonicalize"))
    assert next(iter(event.graph)) in Dataset(event.graph)
    assert event.attachment(NamedNode("x:a")) == event.attachment("x:a") == b"bytes"
    with pytest.raises(Unanswerable, match=r"^no attachment <x:b>; the publication has <x:a>; publish"):
        event.attachment(NamedNode("x:b"))
