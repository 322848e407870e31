"""A schema is loaded, kept, and read as of a position."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from triplecast import DocumentRejected, Engine, InputError, StorageFault
from triplecast.journal import Journal, JournalFile
from triplecast.model.events import SchemaVersion

PREFIXES = """@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix m: <urn:triplecast:mdv:> . """
FIRST = PREFIXES + ":part rdfs:domain :Machine ; m:strong true ; m:setValued true . :Lathe rdfs:subClassOf :Machine ."
SECOND = PREFIXES + ":maker m:strong true ."


def test_a_schema_holds_from_its_position_on(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        first = engine.load_schema(FIRST, "text/turtle")
        assert (first.position, first.classes, first.properties, first.set_valued, first.strong) == (1, 2, 1, 1, 1)
        assert engine.load_schema(FIRST, "text/turtle") == first
        engine.publish("<urn:a> <urn:p> 1 .", "text/turtle", "urn:d")
        second = engine.load_schema(SECOND, "text/turtle")
        with pytest.raises(DocumentRejected):
            engine.load_schema("no turtle", "text/turtle")
        with pytest.raises(InputError, match="say true or false"):
            engine.load_schema(PREFIXES + ":p m:strong 'yes' .", "text/turtle")
    with JournalFile.read_only(tmp_path) as journal:
        assert journal.schema(0).triples == ()
        assert [journal.schema(at).strong for at in (1, 2, 3, None)] == [
            {"<http://x/part>"}, {"<http://x/part>"}, {"<http://x/maker>"}, {"<http://x/maker>"},
        ]  # fmt: skip
        events = journal.events(0, 99)
        assert [type(event).__name__ for event in events] == ["SchemaVersion", "Publication", "SchemaVersion"]
        assert events[2] == SchemaVersion(second.position, journal.schema().lines)
        journal.check()
    with Engine.open(tmp_path) as engine:
        assert engine.load_schema("", "text/turtle").position == 4
        assert engine.load_schema("", "text/turtle").position == 4
        assert len(engine.query("SELECT * { ?s ?p ?o }")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM setting WHERE name = 'schema'",
        "UPDATE setting SET value = '1' WHERE name = 'schema'",
        "DELETE FROM record WHERE kind = 10 AND position = 2",
    ],
)
def test_a_schema_that_cannot_be_found_is_a_fault(tmp_path: Path, statement: str) -> None:
    with Engine.open(tmp_path) as engine:
        engine.load_schema(FIRST, "text/turtle")
        engine.load_schema(SECOND, "text/turtle")
        engine.publish("<urn:a> <urn:p> 1 .", "text/turtle", "urn:d")
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        raw.execute(statement)
    raw.close()
    with pytest.raises(StorageFault), Journal.open(tmp_path) as journal:
        journal.schema()
    with pytest.raises(StorageFault), Journal.open(tmp_path) as journal:
        journal.check()
