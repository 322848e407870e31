"""The closure and the functions against the slow reader, and G-ToPSS's own example (its figure 6)."""

from __future__ import annotations

import random
import sys

import pytest

from tests.reference.entailment import MEMBER, PROP, RDF, SUB, A, Triple, entailed, holds
from triplecast.model.entailment import Mark
from triplecast.taxonomy import Classes, EntailmentTooLarge, Schema, Taxonomy, Words, entail, read_taxonomy
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
    classes = Classes(entail(sorted(graph), schema, False), schema)
    found = classes.holds(Mark[function.upper()], f"<x:{node}>", f"<x:{other}>")
    assert found == expected == holds(function, f"<x:{node}>", f"<x:{other}>", graph, known)


def test_the_steps_up_are_a_shortest_way() -> None:
    schema = schema_of(Taxonomy(tuple(sorted((f"<x:{low}>", SUB, f"<x:{high}>") for low, high in FIGURE_6))))
    classes = Classes([], schema)
    assert classes.way("<x:Sigmod>", "<x:Publications>") == ("<x:Sigmod>", "<x:Conference>", "<x:Publications>")
    assert classes.way("<x:TechnicalReport>", "<x:Publications>") == ("<x:TechnicalReport>", "<x:Publications>")
    assert classes.way("<x:Publications>", "<x:Sigmod>") == ()
