"""The slow reader against the W3C result files: it must be right before it judges anything."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import pyoxigraph
import pytest
import rdflib
from rdflib.query import Result

from tests.reference.from_rdflib import read_query, to_term
from tests.reference.solve import Dataset, answer
from tests.reference.terms import iri, read_ntriples

CLASSES = ("BGP", "BGP+FILTER", "ASK", "optional", "union", "negation", "path")
BASE = "http://example.org/base/"
RESULT_SET = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")

EXCLUDED = {
    "optional-filter/dawg-optional-filter-005-simplified": "another result of the same query as 005-not-simplified; "
    "SPARQL 1.1 section 18.2.2 simplifies groups after filters were placed, which gives the other one",
} | dict.fromkeys(
    ("property-path/nps_inverse", "property-path/nps_direct_and_inverse", "property-path/nps_a_inverse"),
    "rdflib 7.6 does not translate an inverse step inside a negated set",
)
"""Identifier after the last folder of the test's name → why the slow reader does not give the expected result."""


@pytest.fixture(scope="module")
def suite(shared_data: Path) -> Path:
    return shared_data / "conformance" / "rdf-tests"


def test_expected_results(suite: Path) -> None:
    cases = [case for case in json.loads((suite / "ORACLE_CASES.json").read_text()) if case["class"] in CLASSES]
    faults, run = [], Counter()
    for case in cases:
        name = case["id"].split("/")[-2] + "/" + case["id"].split("#")[-1]
        if case["entail"] or name in EXCLUDED:
            continue
        run[case["class"]] += 1
        try:
            fault = _difference(suite, case)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault:
            faults.append(f"{case['class']} {name} {case['query']}: {fault}")
    print(dict(run))
    assert not faults, "\n".join(faults)
    assert sum(run.values()) >= 255


def _difference(suite: Path, case: dict) -> str | None:
    query = read_query((suite / case["query"]).read_text(), BASE)
    (file,) = case["data"]
    quads = pyoxigraph.parse(path=str(suite / file), base_iri=BASE)
    triples = read_ntriples("".join(f"{quad.subject} {quad.predicate} {quad.object} .\n" for quad in quads))
    got = answer(query, Dataset.of_publication(iri(BASE), triples))
    if query.form == "ask":
        return None if bool(got) == case["expected_rows"] else f"got {bool(got)}"
    wanted = _expected(suite / case["result"])
    if isinstance(wanted, int):
        return None if len(got) == wanted else f"got {len(got)} rows, expected {wanted}"
    return None if _isomorphic(got, wanted) else f"\n  got {got}\n  expected {wanted}"


def _expected(file: Path) -> list[dict]:
    kept, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        if file.suffix in (".ttl", ".rdf"):
            return _result_graph(rdflib.Graph().parse(file))
        forms = {".srx": "xml", ".srj": "json", ".tsv": "tsv"}
        with file.open("rb") as stream:
            result = Result.parse(stream, format=forms[file.suffix])
        return [{str(name): to_term(value) for name, value in row.items()} for row in result.bindings]
    finally:
        rdflib.NORMALIZE_LITERALS = kept


def _result_graph(graph: rdflib.Graph) -> list[dict]:
    return [
        {
            str(graph.value(binding, RESULT_SET.variable)): to_term(graph.value(binding, RESULT_SET.value))
            for binding in graph.objects(solution, RESULT_SET.binding)
        }
        for solution in graph.objects(None, RESULT_SET.solution)
    ]


def _isomorphic(got: list[dict], wanted: list[dict]) -> bool:
    """Equal as multisets up to the names of blank nodes."""
    if len(got) != len(wanted):
        return False
    ours, theirs = (sorted({t for row in rows for t in row.values() if t[0] == "blank"}) for rows in (got, wanted))
    if len(ours) != len(theirs):
        return False
    goal = Counter(frozenset(row.items()) for row in wanted)
    if len(ours) > 6:
        return _without_labels(got) == _without_labels(wanted)
    for order in permutations(theirs):
        names = dict(zip(ours, order, strict=True))
        if Counter(frozenset((k, names.get(v, v)) for k, v in row.items()) for row in got) == goal:
            return True
    return False


def _without_labels(rows: list[dict]) -> Counter:
    """A necessary condition only, for the cases with too many blank nodes to try all namings."""
    return Counter(frozenset((k, "blank" if v[0] == "blank" else v) for k, v in row.items()) for row in rows)
