"""The W3C SPARQL suite: its cases, its data as publications, its results, and their comparison with ours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    RdfFormat,
    parse,
    parse_query_results,
)

from triplecast.evaluate import Solutions
from triplecast.model.publication import Publication
from triplecast.terms.values import ValueClass, value_of

SUITE = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "conformance" / "rdf-tests"
ABSENT = "the W3C suites are not at ../shared/data/conformance"
BASE = "http://suite.example/"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
FORMATS = {"ttl": RdfFormat.TURTLE, "rdf": RdfFormat.RDF_XML, "nt": RdfFormat.N_TRIPLES, "n3": RdfFormat.TURTLE}
RESULT_FORMATS = {"srx": QueryResultsFormat.XML, "srj": QueryResultsFormat.JSON, "tsv": QueryResultsFormat.TSV}

Cell = NamedNode | BlankNode | Literal
Row = dict[str, Cell]
Triple = tuple[Any, Any, Any]


class Case(NamedTuple):
    """Paths are relative to the suite."""

    id: str
    """The name of the test in its manifest, after its group."""
    query: str
    data: tuple[str, ...]
    graph_data: tuple[str, ...]
    result: str
    dataset: bool = False
    """Whether the publication is a dataset whose graphs stay as published (else GRAPH sees it under its identity)."""


class Expected(NamedTuple):
    kind: str
    """``rows``, ``boolean`` or ``graph``."""
    rows: list[Row]
    """Triples are rows of s, p and o."""
    verdict: bool = False
    ordered: bool = False


@cache
def oracle_cases() -> tuple[Case, ...]:
    """The cases of ORACLE_CASES.json, those under an entailment regime left out."""
    cases = json.loads((SUITE / "ORACLE_CASES.json").read_text())
    return tuple(
        Case(f"{case['grp']}/{case['id'].split('#')[-1]}", case["query"], tuple(case["data"]), (), case["result"])
        for case in cases
        if case["entail"] is None
    )


@cache
def manifest_cases() -> tuple[Case, ...]:
    """Evaluation tests with named graphs (``qt:graphData``), those of the group graph, and those of CONSTRUCT."""
    cases: list[Case] = []
    for manifest in sorted(SUITE.glob("sparql/sparql1[01]/*/manifest.ttl")):
        folder = manifest.parent.relative_to(SUITE).as_posix()
        cases.extend(_of_manifest(folder, _objects(read_graph(f"{folder}/manifest.ttl"))))
    return tuple(sorted(set(cases)))


def _of_manifest(folder: str, objects: dict[tuple[Any, str], list[Any]]) -> Iterator[Case]:
    for (test, predicate), types in list(objects.items()):
        if predicate != RDF_TYPE or NamedNode(f"{MF}QueryEvaluationTest") not in types:
            continue
        (action,) = objects[test, f"{MF}action"]
        graph_data = objects.get((action, f"{QT}graphData"), [])
        group = folder.rsplit("/", 1)[-1]
        if not graph_data and group not in ("graph", "construct"):
            continue
        paths = [
            tuple(node.value.removeprefix(BASE) for node in nodes)
            for nodes in (objects[action, f"{QT}query"], objects.get((action, f"{QT}data"), []), graph_data)
        ]
        result = objects[test, f"{MF}result"][0].value.removeprefix(BASE)
        yield Case(f"{group}/{test.value.split('#')[-1]}", paths[0][0], paths[1], paths[2], result, dataset=True)


def publication_of(case: Case) -> Publication:
    """Default graph and named graphs of a case as one publication version."""
    lines: set[str] = set()
    for index, path in enumerate((*case.data, *case.graph_data)):
        name = "" if index < len(case.data) else f" <{BASE}{path}>"
        for triple in read_graph(path):
            lines.add(" ".join(str(_apart(term, index)) for term in triple) + f"{name} .")
    quads = "".join(f"{line}\n" for line in sorted(lines)).encode()
    stamp = "2026-11-21T08:00:00.000000Z"
    return Publication(1, "urn:x-suite:publication", 1, stamp, quads, case.dataset)


def query_text(case: Case) -> str:
    return f"BASE <{BASE}{case.query}>\n{(SUITE / case.query).read_text(encoding='utf-8')}"


def read_graph(path: str) -> list[Triple]:
    form = FORMATS[path.rsplit(".", 1)[-1]]
    quads = parse((SUITE / path).read_bytes(), format=form, base_iri=BASE + path)
    return [(quad.subject, quad.predicate, quad.object) for quad in quads]


def expected_of(case: Case) -> Expected:
    extension = case.result.rsplit(".", 1)[-1]
    if extension not in RESULT_FORMATS:
        return _result_set(read_graph(case.result))
    results = parse_query_results((SUITE / case.result).read_bytes(), format=RESULT_FORMATS[extension])
    if isinstance(results, QueryBoolean):
        return Expected("boolean", [], bool(results))
    assert isinstance(results, QuerySolutions)
    names = [variable.value for variable in results.variables]
    return Expected("rows", [{n: solution[n] for n in names if solution[n] is not None} for solution in results])


def _result_set(graph: list[Triple]) -> Expected:
    """Results in the result-set vocabulary, or a graph that CONSTRUCT is to give."""
    objects = _objects(graph)
    top = next((s for s, p, o in graph if p.value == RDF_TYPE and o == NamedNode(f"{RS}ResultSet")), None)
    if top is None:
        return Expected("graph", [{"s": s, "p": p, "o": o} for s, p, o in graph])
    if (top, f"{RS}boolean") in objects:
        return Expected("boolean", [], objects[top, f"{RS}boolean"][0].value == "true")
    solutions = objects.get((top, f"{RS}solution"), [])
    ordered = bool(solutions) and all((solution, f"{RS}index") in objects for solution in solutions)
    if ordered:
        solutions.sort(key=lambda solution: int(objects[solution, f"{RS}index"][0].value))
    rows = [
        {
            objects[binding, f"{RS}variable"][0].value: objects[binding, f"{RS}value"][0]
            for binding in objects.get((solution, f"{RS}binding"), [])
        }
        for solution in solutions
    ]
    return Expected("rows", rows, ordered=ordered)


def difference(solutions: Solutions, expected: Expected, by_value: bool = False) -> str | None:
    """What differs, None when the answers are equal up to the names of blank nodes (and, `by_value`, the written form
    of numbers). The order counts where the result file states one, among rows without blank nodes."""
    if expected.kind == "boolean":
        return None if solutions.matched is expected.verdict else f"{solutions.matched}, expected {expected.verdict}"
    if expected.kind == "graph":
        found = [dict(zip("spo", triple, strict=True)) for triple in solutions.graph]
    else:
        found = [
            {name: term for name, term in zip(solutions.variables, row, strict=True) if term is not None}
            for row in solutions.rows
        ]
    wanted = expected.rows
    if by_value:
        found, wanted = _by_value(found), _by_value(wanted)
    if not isomorphic(found, wanted):
        missing = Counter(map(_text, wanted)) - Counter(map(_text, found))
        surplus = Counter(map(_text, found)) - Counter(map(_text, wanted))
        return f"missing {sorted(missing.elements())[:4]}, surplus {sorted(surplus.elements())[:4]}"
    if expected.ordered and not any(map(_has_blank, found)) and found != wanted:
        return f"order {[_text(row) for row in found]}, expected {[_text(row) for row in wanted]}"
    return None


def isomorphic(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether two multisets of rows are equal under some bijection of blank nodes (backtracking; small inputs)."""
    if Counter(map(_shape, left)) != Counter(map(_shape, right)):
        return False
    waiting = [row for row in left if _has_blank(row)]
    others = [row for row in right if _has_blank(row)]

    def place(index: int, forward: dict[Cell, Cell], backward: dict[Cell, Cell], used: frozenset[int]) -> bool:
        if index == len(waiting):
            return True
        for position, other in enumerate(others):
            if position in used or _shape(other) != _shape(waiting[index]):
                continue
            ahead, behind = dict(forward), dict(backward)
            if all(_agree(waiting[index][name], other[name], ahead, behind) for name in other) and place(
                index + 1, ahead, behind, used | {position}
            ):
                return True
        return False

    return place(0, {}, {}, frozenset())


def _objects(graph: list[Triple]) -> dict[tuple[Any, str], list[Any]]:
    found: dict[tuple[Any, str], list[Any]] = {}
    for subject, predicate, object_ in graph:
        found.setdefault((subject, predicate.value), []).append(object_)
    return found


def _apart(term: Cell, index: int) -> Cell:
    return BlankNode(f"f{index}{term.value}") if isinstance(term, BlankNode) else term


def _agree(left: Cell, right: Cell, forward: dict[Cell, Cell], backward: dict[Cell, Cell]) -> bool:
    if not isinstance(left, BlankNode):
        return left == right
    return forward.setdefault(left, right) == right and backward.setdefault(right, left) == left


def _by_value(rows: list[Row]) -> list[Row]:
    return [{name: _plain_number(term) for name, term in row.items()} for row in rows]


def _plain_number(term: Cell) -> Cell:
    value = value_of(term)
    if isinstance(term, Literal) and ValueClass.EXACT <= value.kind <= ValueClass.DOUBLE:
        return Literal(f"{float(value.exact):.12g}", datatype=term.datatype)  # type: ignore[arg-type]
    return term


def _has_blank(row: Row) -> bool:
    return any(isinstance(term, BlankNode) for term in row.values())


def _shape(row: Row) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, "_:" if isinstance(term, BlankNode) else str(term)) for name, term in row.items()))


def _text(row: Row) -> str:
    return " ".join(f"?{name}={row[name]}" for name in sorted(row))
