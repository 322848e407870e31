"""What is taken of documents as a schema."""

from __future__ import annotations

import pytest

from triplecast.errors import InputError
from triplecast.schema import NO_SCHEMA, read_schema, restore_schema

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"


def lines(*rows: str) -> bytes:
    words = {"domain": f"<{RDFS}domain>", "range": f"<{RDFS}range>", "sub": f"<{RDFS}subClassOf>",
             "set": "<urn:triplecast:mdv:setValued>", "strong": "<urn:triplecast:mdv:strong>",
             "true": f'"true"^^<{BOOLEAN}>', "false": f'"0"^^<{BOOLEAN}>'}  # fmt: skip
    return "".join(
        " ".join(words.get(word) or (word if word[0] in '"_<' else f"<x:{word}>") for word in row.split()) + " .\n"
        for row in rows
    ).encode()


def test_what_describes_classes_and_properties_is_taken() -> None:
    schema = read_schema(
        [
            lines("p domain C", "p range D", "p range E", "C sub B", "B sub A", 'p label "a"', "C sub _:b"),
            lines("p set true", "p strong true", "q strong false", "q range <http://www.w3.org/2001/XMLSchema#int>"),
            b'<x:p> <urn:triplecast:mdv:strong> "1"^^<http://www.w3.org/2001/XMLSchema#boolean> <x:graph> .\n',
        ]
    )
    assert schema.strong == schema.set_valued == {"<x:p>"}
    assert schema.domains == {"<x:p>": {"<x:C>"}}
    assert schema.ranges["<x:p>"] == {"<x:D>", "<x:E>"}
    assert schema.superclasses == {"<x:C>": {"<x:B>"}, "<x:B>": {"<x:A>"}}
    assert schema.above("<x:C>") == schema.below("<x:A>") == {"<x:A>", "<x:B>", "<x:C>"}
    assert schema.classes == {"<x:A>", "<x:B>", "<x:C>"}
    assert schema.properties == {"<x:p>", "<x:q>"}
    assert restore_schema(schema.lines).triples == schema.triples
    assert read_schema([lines("p label C")]).triples == NO_SCHEMA.triples


def test_classes_in_a_circle_are_equal() -> None:
    schema = read_schema([lines("A sub B", "B sub C", "C sub A", "D sub C")])
    assert schema.below("<x:A>") == {"<x:A>", "<x:B>", "<x:C>", "<x:D>"}
    assert schema.above("<x:D>") == {"<x:A>", "<x:B>", "<x:C>", "<x:D>"}


@pytest.mark.parametrize("value", ['"yes"', '"true"', "<x:true>"])
def test_a_mark_is_true_or_false(value: str) -> None:
    with pytest.raises(InputError, match="say true or false"):
        read_schema([lines(f"p strong {value}")])
