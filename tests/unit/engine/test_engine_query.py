"""`Engine.query` sees what was published before it, and a folder opens with what it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecast import Engine, InputError, QueryRefused, QueryTooLarge
from triplecast.repository import repository
from triplecast.repository.cache import CACHE

COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"


def publish(engine: Engine, number: int, graph: int) -> None:
    text = f'<https://example.org/{number}> <http://purl.org/dc/elements/1.1/title> "{number}" .'
    engine.publish(text, media_type="text/turtle", graph=f"https://example.org/graph/{graph}")


def count(engine: Engine) -> int:
    (row,) = engine.query(COUNT)  # type: ignore[misc]
    return int(row["n"].value)


def test_every_call_that_publishes_is_seen() -> None:
    with Engine() as engine:
        assert engine.query("ASK { ?s ?p ?o }") is False
        publish(engine, 1, 1)
        assert count(engine) == 1
        publish(engine, 1, 2)
        assert count(engine) == 1
        publish(engine, 2, 2)
        assert count(engine) == 2
        engine.remove("https://example.org/graph/1")
        assert count(engine) == 1
        assert [*map(str, engine.query("CONSTRUCT { ?s rdfs:label ?o } { ?s dc:title ?o }"))] == [
            '<https://example.org/2> <http://www.w3.org/2000/01/rdf-schema#label> "2"'
        ]
        assert engine.query("SELECT ?s ?x { ?s dc:title ?o OPTIONAL { ?s rdfs:label ?x } }")[0].keys() == {"s"}  # type: ignore[index,union-attr]


def test_a_folder_opens_with_its_documents(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        for number in range(5):
            publish(engine, number, number)
        assert count(engine) == 5
    assert not (tmp_path / CACHE).exists()  # there is too little to save
    with Engine.open(tmp_path) as engine:
        publish(engine, 7, 7)
        assert count(engine) == 6


def test_a_folder_is_saved_when_much_has_come(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        text = "".join(f"<https://example.org/{number}> <x:p> <x:o> .\n" for number in range(30_000))
        engine.publish(text, media_type="application/n-triples", graph="https://example.org/g")
        assert count(engine) == 30_000
        assert not (tmp_path / CACHE).exists()
    saved = (tmp_path / CACHE).stat().st_mtime_ns
    with Engine.open(tmp_path) as engine:
        publish(engine, 1, 1)
        assert count(engine) == 30_001
    assert (tmp_path / CACHE).stat().st_mtime_ns == saved


def test_a_replaced_writer_saves_nothing_and_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "SAVED_AFTER", -1)
    replaced = Engine.open(tmp_path)
    publish(replaced, 1, 1)
    assert count(replaced) == 1
    replaced._querying._repository._unsaved = 1 << 40  # type: ignore[union-attr]
    with Engine.open(tmp_path, take_over=True) as engine:
        replaced.close()
        assert not (tmp_path / CACHE).exists()
        assert count(engine) == 1


def test_what_cannot_be_a_query_is_named() -> None:
    with Engine() as engine:
        publish(engine, 1, 1)
        with pytest.raises(TypeError, match="text is text, not bytes"):
            engine.query(b"ASK { }")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="0 steps"):
            engine.query("ASK { }", steps=0)
        with pytest.raises(QueryTooLarge):
            engine.query(COUNT, steps=1)
    with pytest.raises(InputError, match="closed"):
        engine.query(COUNT)


def test_a_query_asks_what_the_taxonomy_entails_too() -> None:
    with Engine() as engine:
        publish(engine, 1, 1)
        engine.publish("<urn:x> a <urn:Train> .", "text/turtle", "urn:g")
        taxonomy = "<urn:Train> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:Vehicle> ."
        asked = "SELECT ?s { ?s a <urn:Vehicle> }"
        engine.load_taxonomy(taxonomy, media_type="text/turtle")
        assert engine.query(asked) == engine.query(asked, entailment="taxonomy") == []
        assert [str(row["s"]) for row in engine.query(asked, entailment="rdfs")] == ["<urn:x>"]  # type: ignore[union-attr,index,arg-type]
        assert engine.query(f"# triplecast: entailment=rdfs\n{asked}") == engine.query(asked, entailment="rdfs")
        assert engine.query("ASK { ?s a ?type FILTER(tc:descendant(?s, <urn:Vehicle>)) }") is True
        engine.publish("<urn:y> a <urn:Train> .", "text/turtle", "urn:h")
        assert len(engine.query(asked, entailment="rdfs")) == 2  # type: ignore[arg-type]
        engine.load_taxonomy("", media_type="text/turtle")
        assert engine.query(asked, entailment="rdfs") == []
        with pytest.raises(QueryRefused, match="entailment owl"):
            engine.query(asked, entailment="owl")
