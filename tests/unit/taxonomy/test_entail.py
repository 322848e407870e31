"""The closure and the functions against the slow reader, and G-ToPSS's own example (its figure 6)."""

from __future__ import annotations

import random
import sys

import pytest

from tests.reference.entailment import MEMBER, PROP, RDF, SUB, A, Triple, entailed, holds
from triplecast.model.entailment import Mark
from triplecast.taxonomy import (
    Classes,
    EntailmentTooLarge,
    Schema,
    Statements,
    Taxonomy,
    Words,
    entail,
    holders,
    read_taxonomy,
)
from triplecast.taxonomy.taxonomy import BROADER

NAMES = [f"<x:{letter}>" for letter in "abcdef"]
WORDS = (A, SUB, PROP, MEMBER)


def schema_of(taxonomy: Taxonomy) -> Schema[str]:
    return Schema(
        Words(A, SUB, PROP, MEMBER, BROADER),
        taxonomy.upward,
        taxonomy.classes,
        taxonomy.broader,
        lambda term: term[0] == "<",
        lambda term: term.startswith(f"<{RDF}_") and term[len(RDF) + 2 : -1].isdigit() and term[len(RDF) + 2] != "0",
    )


def random_triples(source: random.Random, count: int) -> set[Triple]:
    predicates = [A, A, SUB, SUB, PROP, *NAMES, f"<{RDF}_1>", f"<{RDF}_0>"]
    ends = [*NAMES, *NAMES, *WORDS, '"text"']
    subjects = [*NAMES, *NAMES, *WORDS, f"<{RDF}_1>"]
    return {(source.choice(subjects), source.choice(predicates), source.choice(ends)) for _ in range(count)}


def test_the_closure_equals_the_slow_reader(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(150):
        graph, known = random_triples(source, source.randrange(7)), random_triples(source, 5)
        known = {(s, p, o) for s, p, o in known if p in (A, SUB, PROP) and o[0] == "<"}
        schema = schema_of(Taxonomy(tuple(sorted(known))))  # cycles included: the rules do not need their absence
        for rdfs in (False, True):
            found = entail(sorted(graph), schema, rdfs)
            assert len(found) == len(set(found))
            assert found[: len(graph)] == sorted(graph)
            assert set(found) == entailed(graph, known, rdfs)


def test_an_entailed_graph_beyond_bounds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["triplecast.taxonomy.entail"], "TRIPLES_LIMIT", 20)
    chain = tuple((f"<x:{number:02}>", SUB, f"<x:{number + 1:02}>") for number in range(10))
    schema = schema_of(Taxonomy(chain))
    assert len(entail([("<x:i>", A, "<x:00>")], schema, False)) == 11
    with pytest.raises(EntailmentTooLarge, match="more than"):
        entail([("<x:i>", A, "<x:00>")], schema, True)


@pytest.mark.parametrize(
    "graph",
    [
        [(f"<x:{number}>", SUB, f"<x:{number + 1}>") for number in range(60)],
        [*((f"<x:{number}>", PROP, f"<x:{number + 1}>") for number in range(60)), ("<x:a>", "<x:0>", "<x:b>")],
        [*((f"<x:{number}>", SUB, f"<x:{number + 1}>") for number in range(60)), ("<x:a>", A, "<x:0>")],
    ],
    ids=["classes", "properties", "types"],
)
def test_the_work_is_in_proportion_to_what_follows(graph: list[Triple], monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of n terms has n² / 2 ways up, each of which can be cut in two at up to n places."""
    closing = sys.modules["triplecast.taxonomy.entail"]._Closing
    tried = 0
    add = closing.add

    def counted(self: object, *added: object) -> None:
        nonlocal tried
        tried += 1
        add(self, *added)

    monkeypatch.setattr(closing, "add", counted)
    found = entail(graph, schema_of(Taxonomy(())), True)
    assert len(found) > 1_800
    assert tried < 2 * len(found)


FIGURE_6 = [
    ("Journal", "Publications"),
    ("Conference", "Publications"),
    ("TechnicalReport", "Publications"),
    ("TechnicalReport", "DepartmentPublications"),
    ("TechnicalReport", "JacobsensPublications"),
    ("Sigmod", "Conference"),
    ("JacobsensPublications", "Publications"),
]
INSTANCES = [("paper17", "JacobsensPublications"), ("paper17", "Sigmod")]


@pytest.mark.parametrize(
    ("function", "node", "other", "expected"),
    [
        ("instance", "paper17", "Sigmod", True),
        ("instance", "paper17", "Conference", False),
        ("descendant", "paper17", "Publications", True),
        ("descendant", "paper17", "Sigmod", True),
        ("descendant", "paper17", "DepartmentPublications", False),
        ("ancestor", "paper17", "TechnicalReport", True),
        ("ancestor", "paper17", "Sigmod", True),
        ("ancestor", "paper17", "Journal", False),
        ("instance", "Conference", "Conference", True),
        ("descendant", "Sigmod", "Publications", True),
        ("ancestor", "Publications", "Sigmod", True),
        ("descendant", "Publications", "Sigmod", False),
        ("descendant", "elsewhere", "Publications", False),
    ],
)
def test_functions_on_the_example_of_the_paper(function: str, node: str, other: str, expected: bool) -> None:
    known = {(f"<x:{low}>", SUB, f"<x:{high}>") for low, high in FIGURE_6}
    known |= {(f"<x:{instance}>", A, f"<x:{each}>") for instance, each in INSTANCES}
    graph = {("<x:paper17>", "<x:author>", "<x:arno>"), ("<x:paper17>", "<x:cites>", "<x:Conference>")}
    graph |= {("<x:arno>", "<x:likes>", f"<x:{each}>") for each in ("Sigmod", "Publications")}
    text = "".join(f"{s} {p} {o} .\n" for s, p, o in sorted(known)).encode()
    schema = schema_of(read_taxonomy([text]))
    classes = Classes(Statements(entail(sorted(graph), schema, False), schema), schema)
    found = classes.holds(Mark[function.upper()], f"<x:{node}>", f"<x:{other}>")
    assert found == expected == holds(function, f"<x:{node}>", f"<x:{other}>", graph, known)


def test_the_steps_up_are_a_shortest_way() -> None:
    schema = schema_of(Taxonomy(tuple(sorted((f"<x:{low}>", SUB, f"<x:{high}>") for low, high in FIGURE_6))))
    classes = Classes(Statements([], schema), schema)
    assert classes.way("<x:Sigmod>", "<x:Publications>") == ("<x:Sigmod>", "<x:Conference>", "<x:Publications>")
    assert classes.way("<x:TechnicalReport>", "<x:Publications>") == ("<x:TechnicalReport>", "<x:Publications>")
    assert classes.way("<x:Publications>", "<x:Sigmod>") == ()


def test_who_holds_a_class_is_who_is_found_to_hold_it(seed: int) -> None:
    source = random.Random(seed)
    held = 0
    for _ in range(100):
        graph, known = random_triples(source, source.randrange(9)), random_triples(source, 5)
        known = {(s, p, o) for s, p, o in known if p in (A, SUB, PROP) and o[0] == "<"}
        schema = schema_of(Taxonomy(tuple(sorted(known))))
        stated = entail(sorted(graph), schema, False)
        statements = Statements(stated, schema)
        classes = Classes(statements, schema)
        nodes = {term for triple in stated for term in triple}
        for function in (Mark.INSTANCE, Mark.DESCENDANT, Mark.ANCESTOR):
            for other in (*NAMES, "<x:elsewhere>"):
                found = set(holders(statements, classes, function, other))
                assert found == {node for node in nodes if classes.holds(function, node, other)}
                held += len(found)
    assert held > 300


def test_a_function_takes_the_same_steps_whatever_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["triplecast.taxonomy.classes"], "CLASSES_KEPT", 300)
    chain = [(f"<x:{number}>", SUB, f"<x:{number + 1}>") for number in range(100)]
    schema = schema_of(Taxonomy(()))
    classes = Classes(Statements(chain, schema), schema)

    def steps(number: int) -> int:
        spent: list[int] = []
        assert classes.holds(Mark.DESCENDANT, f"<x:{number}>", "<x:100>", spent.append)
        return sum(spent)

    assert [steps(number) for number in (0, 0, 50, 80, 0)] == [6, 6, 3, 1, 6]
    for number in range(100):
        steps(number)
        assert sum(map(len, classes._closures.values())) <= 300 + 101


def test_a_long_way_up_is_found_at_once() -> None:
    chain = [(f"<x:{number}>", SUB, f"<x:{number + 1}>") for number in range(20_000)]
    schema = schema_of(Taxonomy(()))
    assert len(Classes(Statements(chain, schema), schema).way("<x:0>", "<x:20000>")) == 20_001
