"""Engines with operators of their own: one process, one IRI, other functions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from triplecast.engine import Engine
from triplecast.errors import InputError, QuerySyntaxError
from triplecast.ingest import Document
from triplecast.model.subscription import Subscription
from triplecast.offline import match_documents
from triplecast.operators.operator_set import operator_set
from triplecast.registry.admission import Admitted

IRI = "https://example.org/own#length"
P = f"PREFIX : <https://example.org/> PREFIX o: <{IRI[:-6]}> "
BOUND = P + "SELECT ?n { ?p :title ?t BIND(o:length(?t) AS ?n) }"
GROUPED = P + "SELECT (SUM(?n) AS ?c) { ?p :title ?t . ?t o:length ?n } GROUP BY ?p"
BETWEEN = P + "SELECT ?n { ?p :title ?t ; :note ?o BIND(o:length(?t, ?o) AS ?n) }"
DOCUMENT = '@prefix : <https://example.org/> . <urn:p> :title "night train" ; :note "abc" .'
MODULE = """
from triplecast.operators import operator

@operator("{iri}", version="1", arguments={arguments})
def length(event, *texts):
    return {answer}
"""
CHARACTERS = "sum(len(text.value) for text in texts)"
WORDS = "sum(len(text.value.split()) for text in texts)"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ModuleType]]:
    """Three that declare one IRI: characters of a text, its words, and the characters of two texts."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = (("bound", "free"), CHARACTERS), (("bound", "free"), WORDS), (("bound", "bound", "free"), CHARACTERS)
    names = [f"own_lengths_{number}" for number in range(len(made))]
    for name, (arguments, answer) in zip(names, made, strict=True):
        (tmp_path / f"{name}.py").write_text(MODULE.format(iri=IRI, arguments=arguments, answer=answer))
    yield list(map(importlib.import_module, names))
    for name in names:
        del sys.modules[name]


def values(engine: Engine, graph: str) -> list[str]:
    receipt = engine.publish(DOCUMENT, "text/turtle", graph)
    assert not receipt.undecided
    return [next(iter(solution.values())).value for match in receipt.matches for solution in match.bindings]


def test_two_functions_of_one_iri_side_by_side(modules: list[ModuleType]) -> None:
    characters, words, _ = modules
    with Engine(operators=[characters.length]) as one, Engine(operators=[words.length]) as other:
        for engine in (one, other):
            engine.subscribe(BOUND, id="bound")
            engine.subscribe(GROUPED, id="grouped")
        for number in range(2):
            assert values(one, f"urn:d{number}") == ["11", "11"]
            assert values(other, f"urn:d{number}") == ["2", "2"]
        (match,) = other.preview(BOUND).matches[:1]
        assert match.bindings[0]["n"].value == "2"
        (explained,) = other.explain(DOCUMENT, "bound", "text/turtle")
        assert explained.solutions == ((("n", '"2"^^<http://www.w3.org/2001/XMLSchema#integer>'),),)


def test_folders_keep_each_to_its_own(modules: list[ModuleType], tmp_path: Path) -> None:
    characters, words, _ = modules
    given = {"one": [characters.length], "other": [words.length]}
    for number in range(2):  # a second time, they are opened again
        engines = {name: Engine.open(tmp_path / name, operators=own) for name, own in given.items()}
        for name, engine in engines.items():
            if not number:
                engine.subscribe(BOUND, id="bound")
            assert values(engine, f"urn:d{number}") == ["11" if name == "one" else "2"]
        for engine in engines.values():
            engine.close()
    with Engine.open(tmp_path / "one", operators=[]) as bare:
        waiting = bare.publish(DOCUMENT, "text/turtle", "urn:d2")
        assert [match.bindings[0]["n"].value for match in waiting.matches] == ["11"], "the recorded one is called"


def test_one_text_under_two_grammars(modules: list[ModuleType]) -> None:
    one_text, _, two_texts = modules
    with Engine(operators=[one_text.length]) as one, Engine(operators=[two_texts.length]) as other:
        for _ in range(2):  # what one parsed, the other does not take from a cache
            with pytest.raises(QuerySyntaxError, match="takes 1 argument"):
                one.subscribe(BETWEEN)
            with pytest.raises(QuerySyntaxError, match="takes 2 arguments"):
                other.subscribe(BOUND)
            one.unsubscribe(one.subscribe(BOUND).id)
            other.unsubscribe(other.subscribe(BETWEEN).id)
        one.subscribe(BOUND)
        other.subscribe(BETWEEN)
        assert (values(one, "urn:d"), values(other, "urn:d")) == (["11"], ["14"])


def test_an_engine_without_operators_takes_the_iri_for_a_predicate(modules: list[ModuleType]) -> None:
    with Engine(operators=[]) as engine:
        engine.subscribe(P + "SELECT ?n { ?t o:length ?n }", id="plain")
        receipt = engine.publish(f'<urn:t> <{IRI}> "5" .', "text/turtle", "urn:d")
        assert [match.bindings[0]["n"].value for match in receipt.matches] == ["5"]


def test_a_default_engine_names_both_modules_of_an_iri(modules: list[ModuleType]) -> None:
    with pytest.raises(InputError, match=r"own_lengths_0\.length and as own_lengths_1\.length"):
        Engine()


def test_files_are_matched_with_the_operators_given(modules: list[ModuleType]) -> None:
    characters, words, _ = modules
    for function, expected in ((characters.length, "11"), (words.length, "2")):
        operators = operator_set([function])
        documents = [Document("a.ttl", DOCUMENT.encode(), "text/turtle")]
        admitted = Admitted((Subscription("bound", BOUND),))
        (outcome,) = match_documents(admitted, documents, operators=operators)
        assert f'\\"{expected}\\"' in outcome.matched.bindings_of(0).decode()
