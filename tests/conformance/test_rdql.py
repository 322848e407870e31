"""RDQL: Jena's 53 tests through the whole product, and their templates; the result files are the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from tests.conformance.sparql_suite import Row, isomorphic
from triplecast import Engine
from triplecast.languages import fill, parse_query, parse_template
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

RS = "http://jena.hpl.hp.com/2003/03/result-set#"
MEDIA_TYPES = {".nt": "application/n-triples", ".n3": "text/turtle", ".rdf": "application/rdf+xml"}
BASE = "http://suite.example/"

AFTER_THE_JOIN = {
    "test-2-07",  # ?z1 eq ?z2: two variables
    "test-3-03",  # ?z eq "v-2-2": the text of any literal or IRI
    "test-3-05",
    "test-3-06",
    "test-3-07",  # ! ( … eq … && … eq … ) of a variable that may be a literal
    "test-4-06",  # ?x EQ ?y
    "test-T-05",  # ?age >= 24: "25" is a string to the index
    "test-T-06",
}
"""Tests whose conditions are calculated of the rows of their join, with the reason."""


class Case(NamedTuple):
    name: str
    text: str
    data: Path
    rows: list[Row]


def rdql_cases(shared_data: Path) -> list[Case]:
    folder = shared_data / "rdql"
    return [
        Case(path.name, text, folder / source_of(text), list(expected_rows(folder, path.name)))
        for path in sorted(folder.glob("test-*"))
        for text in [path.read_text("utf-8")]
    ]


def source_of(text: str) -> str:
    found = re.search(r"(?:FROM|SOURCE)\s+<(.*?)>", text)
    assert found is not None
    return found[1]


def expected_rows(folder: Path, name: str) -> Iterator[Row]:
    """The rows of a result file; ``rs:undefined`` stands for a variable without a value."""
    graph = list(parse(path=folder / f"{name.replace('test', 'result')}.n3", format=RdfFormat.TURTLE, base_iri=BASE))

    def values(subject: object, predicate: str) -> list[NamedNode | BlankNode | Literal]:
        return [t.object for t in graph if t.subject == subject and t.predicate.value == RS + predicate]  # type: ignore[misc]

    (result,) = {triple.subject for triple in graph if triple.predicate.value == RS + "size"}
    solutions = values(result, "solution")
    (size,) = values(result, "size")
    assert int(size.value) == len(solutions)
    for solution in solutions:
        row = {values(b, "variable")[0].value: values(b, "value")[0] for b in values(solution, "binding")}
        yield {name: term for name, term in row.items() if term != NamedNode(RS + "undefined")}


def test_jenas_tests_through_the_engine(shared_data: Path) -> None:
    cases = rdql_cases(shared_data)
    assert len(cases) == 53
    with Engine() as engine:
        for case in cases:
            engine.subscribe(case.text, id=case.name, language="rdql")
        found: dict[tuple[str, str], list[Row]] = {}
        for path in sorted({case.data for case in cases}):
            receipt = engine.publish(path.read_bytes(), MEDIA_TYPES[path.suffix], BASE + path.name)
            assert not receipt.rejects
            assert not receipt.undecided
            found |= {(match.subscription, path.name): match.bindings for match in receipt.matches}
    wrong = [case.name for case in cases if not isomorphic(found.get((case.name, case.data.name), []), case.rows)]
    assert wrong == []


def test_what_the_index_decides_of_them(shared_data: Path) -> None:
    admitted = {case.name: admit(Subscription(case.name, case.text, "rdql")) for case in rdql_cases(shared_data)}
    assert {name for name, admission in admitted.items() if not admission.decided} == set()
    alone = {name for name, admission in admitted.items() if admission.bounded}
    assert set(admitted) - alone == AFTER_THE_JOIN


def test_filling_a_template_gives_each_of_them_back(shared_data: Path) -> None:
    texts = [case.text for case in rdql_cases(shared_data)]
    texts.append((shared_data / "rdql" / "query-dump").read_text("utf-8"))
    for text in texts + texts:
        template, constants = parse_template(text, "rdql")
        assert fill(template.query, constants) == parse_query(text, "rdql")


@pytest.mark.parametrize("model", ["model0.nt", "model3.nt", "model8.n3"])
def test_the_query_that_dumps_a_model(shared_data: Path, model: str) -> None:
    folder = shared_data / "rdql"
    with Engine() as engine:
        engine.subscribe((folder / "query-dump").read_text("utf-8"), id="dump", language="rdql")
        path = folder / model
        (match,) = engine.publish(path.read_bytes(), MEDIA_TYPES[path.suffix], BASE + model).matches
    triples = parse(path=path, format=RdfFormat.TURTLE, base_iri=BASE)
    assert isomorphic(match.bindings, [{"x": t.subject, "y": t.predicate, "z": t.object} for t in triples])  # type: ignore[dict-item]
