"""What is cheap to answer as a whole is decided event by event too, and each notification has an id of its own."""

from __future__ import annotations

import pytest

from triplecast import Engine, Receipt

PREFIX = "@prefix e: <http://e/> . "
MANY = 400


def _publish(engine: Engine, turtle: str, name: str = "one") -> Receipt:
    return engine.publish(PREFIX + turtle, "text/turtle", f"https://example.org/{name}")


def _subscribe(engine: Engine, text: str) -> None:
    engine.subscribe(f"PREFIX e: <http://e/> {text}", id="it", scope="repository")


RESOURCES = " ".join(f"e:s{n} a e:D ; e:by e:r{n} . e:r{n} e:name {n} ." for n in range(MANY))
VALUES = f"e:s a e:D ; e:by {', '.join(f'e:r{n}' for n in range(MANY))} . " + " ".join(
    f"e:r{n} e:name {n} ." for n in range(MANY)
)


@pytest.mark.parametrize(
    ("query", "turtle"),
    [
        ("SELECT ?x ?n { ?x a e:D OPTIONAL { ?x e:by ?y } ?y e:name ?n }", RESOURCES),
        ("SELECT ?x ?n { ?x a e:D ; e:by/e:name ?n }", VALUES),
        ("SELECT ?x { ?x a e:D ; e:by ?y . ?y e:name ?n MINUS { ?y e:none ?z } }", RESOURCES),
    ],
)
def test_a_large_document_comes_and_goes(query: str, turtle: str) -> None:
    with Engine() as engine:
        _subscribe(engine, query)
        for name in ("one", "two"):
            came = _publish(engine, turtle.replace("e:s", f"e:{name}").replace("e:r", f"e:{name}-r"), name)
            assert not came.undecided
            assert len(came.matches[0].added) == MANY
        gone = engine.remove("https://example.org/one")
        assert gone is not None
        assert not gone.undecided
        assert len(gone.matches[0].removed) == MANY


def test_no_document_is_called_as_the_documents_are() -> None:
    """Its notifications would have the ids of first answers."""
    with Engine() as engine:
        (reject,) = engine.publish(PREFIX + "e:a e:p 1 .", "text/turtle", "urn:triplecast:repository").rejects
        assert "urn:triplecast:repository" in reject.reason


@pytest.mark.parametrize(
    ("query", "standing", "event", "added", "removed"),
    [
        ("SELECT ?x ?n { ?x a e:D OPTIONAL { ?x e:name ?n } }", "e:s a e:D .", "e:s e:name 1 .", 1, 1),
        (
            "SELECT * { { ?x a e:D OPTIONAL { ?x e:p ?y } } ?z e:q ?y }",
            "e:s a e:D . e:z e:q 1, 2 .",
            "e:s e:p 1 .",
            0,
            1,
        ),
        ("SELECT ?c { ?c e:info ?s . ?s e:memory 5 }", "e:s e:memory 5 .", "e:c e:info e:s .", 1, 0),
    ],
)
def test_what_one_document_adds_to_another(query: str, standing: str, event: str, added: int, removed: int) -> None:
    with Engine() as engine:
        _publish(engine, standing, "standing")
        _subscribe(engine, query)
        (came,) = _publish(engine, event, "event").matches
        assert (len(came.added), len(came.removed)) == (added, removed)
        gone = engine.remove("https://example.org/event")
        assert gone is not None
        (back,) = gone.matches
        assert (len(back.added), len(back.removed)) == (removed, added)
