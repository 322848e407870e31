"""Warnings where a query's entailment and the loaded taxonomy do not fit."""

from __future__ import annotations

import pytest

from triplecast import Engine
from triplecast.model.entailment import Entailment
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

SCHEMA = "<urn:b> <http://www.w3.org/2004/02/skos/core#broader> <urn:a> ."
PATH = "SELECT ?x { ?x dc:subject/skos:broader* <urn:a> }"
CLASSES = "SELECT ?x { ?x a/rdfs:subClassOf* <urn:a> }"
KIN = "SELECT ?x { ?x dc:subject ?c FILTER(tc:descendant(?c, <urn:a>)) }"
PLAIN = "SELECT ?x { ?x dc:subject/skos:broader <urn:a> }"


def warnings_of(engine: Engine, text: str, entailment: str | None = None) -> tuple[str, ...]:
    found = engine.subscribe(text, entailment=entailment).warnings
    assert engine.preview(text, entailment=entailment).warnings == found
    return tuple(warning for warning in found if not warning.startswith("nothing in it is rarer"))


@pytest.mark.parametrize("text", [PATH, CLASSES])
def test_a_path_beside_a_taxonomy_that_it_does_not_see(text: str) -> None:
    with Engine() as engine:
        assert warnings_of(engine, text) == ()
        engine.load_taxonomy(SCHEMA, "text/turtle", broader=True)
        (warning,) = warnings_of(engine, text)
        assert "begin the query with a line `# triplecast: entailment=taxonomy`" in warning
        assert warnings_of(engine, text, "taxonomy") == ()
        assert warnings_of(engine, "# triplecast: entailment=taxonomy\n" + text) == ()
        assert warnings_of(engine, PLAIN) == ()
        engine.load_taxonomy("", "text/turtle")
        assert warnings_of(engine, text) == ()


def test_functions_of_a_taxonomy_that_is_not_loaded() -> None:
    with Engine() as engine:
        (warning,) = warnings_of(engine, KIN)
        assert warning.startswith("tc:descendant(…) finds only what a publication states itself")
        engine.load_taxonomy(SCHEMA, "text/turtle", broader=True)
        assert warnings_of(engine, KIN) == ()


def test_an_entailment_below_a_prefix_is_noted() -> None:
    """It was ignored without a word, and the query found nothing."""
    header, query = "# triplecast: entailment=taxonomy\n", "ASK { ?x a :c }"
    below = admit(Subscription("a", f"PREFIX : <urn:>\n{header}{query}"))
    assert below.entailment is Entailment.NONE
    (note,) = (each for each in below.notes if "triplecast:" in each)
    assert note == f"line 2: `{header.strip()}` has no effect there: write it once, as the first line"
    above = admit(Subscription("a", f"# mine\n{header}PREFIX : <urn:>\n{query}"))
    assert above.entailment is Entailment.TAXONOMY
    assert not above.notes
