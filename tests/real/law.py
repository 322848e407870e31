"""The 1,504 documents of a law collection, 200 subscriptions made from their own terms, and the answers.

`documents`, `subscriptions` and `expected` serve the test without Spark (`test_law.py`) and the one through `run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyoxigraph

from tests.properties.constructs import keys_of, parts
from tests.properties.generate import Asked, Draft, Published, World
from tests.properties.oracle import Oracle, Question
from tests.properties.oxigraph import Row
from tests.reference import queries as q
from tests.reference.terms import Term, iri, read_ntriples

FOLDER = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "rdf" / "law-sanipueblo" / "_publication"
SUBSCRIPTIONS = 200
SHARE_WITH_RESULTS = 0.25
LARGEST_ANSWER = 500
"""Rows of one pair: far below what the index gives up on."""


class LawDocument(NamedTuple):
    name: str
    """Its path inside the collection."""
    graph: str
    data: bytes
    """RDF/XML."""
    published: Published


@cache
def documents() -> tuple[LawDocument, ...]:
    """All documents in order of their names."""
    found = []
    for path in sorted(FOLDER.rglob("*.rdf")):
        name = path.relative_to(FOLDER).as_posix()
        graph, data = f"https://law.example/{name}", path.read_bytes()
        quads = pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.RDF_XML, base_iri=graph)
        triples = read_ntriples("".join(f"{quad.triple} .\n" for quad in quads))
        found.append(LawDocument(name, graph, data, Published(iri(graph), triples)))
    return tuple(found)


@cache
def subscriptions(seed: int) -> tuple[Question, ...]:
    """200 subscriptions with answers of bearable size; each is drawn from one document."""
    random, published = Random(f"law/{seed}"), [document.published for document in documents()]
    world = World.of_publications(random, published)
    large = [Oracle(each) for each in sorted(published, key=lambda each: len(each.triples))[-3:]]
    made: dict[str, Question] = {}
    while len(made) < SUBSCRIPTIONS:
        if random.random() < 0.5:
            question = Question(world.subscription(published))
        else:
            question = Question(Asked(Draft(world, random.choice(published)).query(), random.randrange(2**32)))
        if _bearable(question, large):
            made[question.text] = question
    return tuple(made.values())


def _bearable(question: Question, large: Sequence[Oracle]) -> bool:
    """Bound by names, determined, and never with a huge answer."""
    basics = [part for part in parts(question.asked.query.select) if isinstance(part, q.Basic)]
    steps = [step for basic in basics for step in basic.steps]
    if any(isinstance(step.predicate, q.Var) or _is_open(step) for step in steps) or len(steps) > 5:
        return False
    answers = [oracle.believe(question) for oracle in large]
    return all(rows is not None and len(rows) <= LARGEST_ANSWER for rows in answers)


def _is_open(step: q.Step) -> bool:
    return not isinstance(step.predicate, tuple) and any(isinstance(end, q.Var) for end in (step.subject, step.object))


@cache
def expected(seed: int) -> Mapping[tuple[int, int], list[Row]]:
    """Rows by (document, subscription), only of pairs that match."""
    return {pair: rows for pair, rows in _answers(seed) if rows}


def _answers(seed: int) -> Iterator[tuple[tuple[int, int], list[Row]]]:
    asked = [(number, question, _needed(question)) for number, question in enumerate(subscriptions(seed))]
    for index, document in enumerate(documents()):
        oracle = Oracle(document.published)
        for number, question, needed in asked:
            if needed <= oracle.terms:
                rows = oracle.believe(question)
                if rows is None:
                    raise AssertionError(f"the answer is left open: {question.text}")
                yield (index, number), rows


def _needed(question: Question) -> frozenset[Term]:
    """Terms that every publication with an answer has."""
    return _needed_by(question.asked.query.select.pattern)


def _needed_by(pattern: q.Pattern) -> frozenset[Term]:
    match pattern:
        case q.Basic(steps):
            plain = tuple(step for step in steps if isinstance(step.predicate, tuple))
            return keys_of(q.Query("ask", q.Select(q.Basic(plain))))
        case q.Join(left, right):
            return _needed_by(left) | _needed_by(right)
        case q.Filter(_, inner) | q.Bind(inner, _, _) | q.Optional(inner, _, _) | q.Minus(inner, _):
            return _needed_by(inner)
    return frozenset()
