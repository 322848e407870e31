"""`explain` shows the results of impure operators that were recorded when matching, where there are any."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triplecast.engine import Engine
from triplecast.operators import PublicationView, operator

ODD = "https://example.org/odd#"


@operator(ODD + "guess", version="1", arguments=("bound", "free"), pure=False)
def guess(event: PublicationView, anything: object) -> int:
    """Another answer each time, as the operator says."""
    return int.from_bytes(os.urandom(4), "big")


@operator(ODD + "blind", version="1", arguments=("bound", "free"), pure=False)
def blind(event: PublicationView, anything: object) -> int:
    raise ValueError(f"it sees nothing, number {os.urandom(4).hex()}")


QUERY = f"SELECT ?n {{ ?p a <urn:Picture> BIND(<{ODD}guess>(?p) AS ?n) FILTER(?n >= 0) }}"
TEXT = "<urn:p> a <urn:Picture> ."


def explained(engine: Engine, text: str, id: str = "guess", graph: str = "urn:g") -> str:
    (found,) = engine.explain(text, id, "text/turtle", graph)
    return str(found)


@pytest.mark.parametrize("durable", [False, True])
def test_the_version_that_stands_is_explained_as_it_was_told(tmp_path: Path, durable: bool) -> None:
    engine = Engine.open(tmp_path / "folder") if durable else Engine()
    engine.subscribe(QUERY, id="guess")
    assert "called for this explanation" in explained(engine, TEXT), "nothing is recorded"
    receipt = engine.publish(TEXT, "text/turtle", "urn:g")
    told = receipt.matches[0].bindings[0]["n"].value
    if durable:
        engine.close()
        engine = Engine.open(tmp_path / "folder")
    with engine:
        said = explained(engine, TEXT)
        assert f"(<urn:p>) returns {told} (version 1, not pure: the stored result)" in said
        assert f"?n = {told}" in said.replace('"', "").replace("^^<http://www.w3.org/2001/XMLSchema#integer>", "")
        for other, graph in ((TEXT, "urn:h"), (f"{TEXT} <urn:p> <urn:q> 1 .", "urn:g")):
            anew = explained(engine, other, graph=graph)
            assert "called for this explanation" in anew
            assert f"returns {told} " not in anew
        assert engine.statistics().work.operator_calls == (0 if durable else 1), "an explanation records nothing"


def test_so_is_what_it_failed_at() -> None:
    with Engine() as engine:
        engine.subscribe(QUERY.replace("guess", "blind"), id="blind")
        (undecided,) = engine.publish(TEXT, "text/turtle", "urn:g").undecided
        assert "it sees nothing, number" in undecided.reason
        assert undecided.reason in explained(engine, TEXT, "blind")
