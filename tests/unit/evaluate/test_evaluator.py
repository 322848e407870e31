"""Candidates through the sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.unit.evaluate.evaluate_samples import PREFIXES, published, solve
from triplecast.evaluate import NO_BACKGROUND, Background, Budget, Candidate, Decision, Evaluator, bindings_json
from triplecast.evaluate.evaluator import QUERIES_A_REQUEST
from triplecast.evaluate.graphs import open_publication
from triplecast.evaluate.messages import (
    EvaluationInput,
    Outcome,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from triplecast.evaluate.worker import STEPS_A_REQUEST, answer, decide
from triplecast.explain.pair import explain_pair
from triplecast.languages.refusals import MAX_DEPTH, MAX_NESTING
from triplecast.model.entailment import Entailment
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.subscription import Subscription
from triplecast.sandbox import Limits

FIRST = published(":a :p :b ; :price 5 .", graph="urn:x:first")
SECOND = published(":c :p :d ; :price 50 .", graph="urn:x:second", version=3)
PRODUCT = (
    "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?q ?r ?s . ?t ?u ?v . ?w ?x ?y "
    + "".join(f". ?a{i} ?b{i} ?c{i} " for i in range(20))
    + "}"
)


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator(steps=100_000) as started:
        yield started


ONE = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "somewhere", "one")


def test_frames_read_what_they_wrote() -> None:
    context, queries = EvaluationInput(SECOND, 10, NO_BACKGROUND, {}), [("ASK { }\n# ü", "sparql"), ("x", "y")]
    assert read_request(write_request(context, queries)) == (context, queries)
    background = Background(Entailment.RDFS, b"<x:a> <x:b> <x:c> .\n", True)
    asked = [("ASK { }", "sparql")]
    context = EvaluationInput(SECOND, 10, background, {}, OperatorSet((ONE,)))
    assert read_request(write_request(context, asked)) == (context, asked)
    outcomes = [
        Outcome("matched", b"[{}]", ""),
        Outcome("undecided", b"", "why\nnot"),
        Outcome("unmatched", b"", ""),
        Outcome("later", b"", ""),
        Outcome("matched", b'[{"a":"\n"}]', ""),
    ]
    assert read_answer(write_answer(outcomes)) == outcomes


def decisions_of(evaluator: Evaluator, candidates: Sequence[Candidate]) -> list[Decision]:
    found = dict(evaluator.decide(candidates))
    return [found[number] for number in range(len(candidates))]


def test_fewer_requests_are_held_together_where_answers_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    candidates = [Candidate(published(f":a :p {n} ."), 9, PREFIXES + "ASK { ?s :p+ ?o }", "sparql") for n in range(9)]
    with Evaluator() as evaluator:
        ask = evaluator._sandbox.map
        monkeypatch.setattr(
            evaluator._sandbox, "map", lambda asked, **how: held.append(len(asked)) or ask(asked, **how)
        )
        monkeypatch.setattr("triplecast.evaluate.evaluator.ANSWERS_AT_ONCE", 1)
        assert all(decision.matched for decision in decisions_of(evaluator, candidates))
    assert held == [4, 1, 1, 1, 1, 1]


def test_candidates_are_decided_as_in_process(evaluator: Evaluator) -> None:
    texts = [
        "SELECT * { ?s :price ?v FILTER(?v > 10) }",
        "SELECT * { ?s :p ?o MINUS { ?s :price 5 } }",
        "ASK { ?s :p+ :b }",
    ]
    candidates = [Candidate(doc, 9, PREFIXES + text, "sparql") for doc in (SECOND, FIRST, SECOND) for text in texts]
    decisions = decisions_of(evaluator, candidates)
    assert len(decisions) == 9
    assert decisions[:3] == decisions[6:]
    for candidate, decision in zip(candidates, decisions, strict=True):
        expected = solve(candidate.text.removeprefix(PREFIXES), candidate.publication)
        assert decision.undecided is None
        assert decision.matched is expected.matched
        assert decision.bindings == (bindings_json(expected) if expected.matched else b"")


def test_the_child_has_its_stemmers_before_it_may_open_no_file(evaluator: Evaluator) -> None:
    text = published(':a :t "Olympic games"@en ; :t "les maisons"@fr .')
    asked = [
        Candidate(text, 9, f"ASK {{ ?s ?p ?t FILTER(ft:contains(?t, '\"{word}\" using stemming')) }}", "sparql")
        for word in ("gaming", "maison", "olive")
    ]
    assert [(each.matched, each.undecided) for each in decisions_of(evaluator, asked)] == [
        (True, None),
        (True, None),
        (False, None),
    ]


def test_one_costly_query_harms_no_neighbour(evaluator: Evaluator) -> None:
    texts = [PRODUCT, "ASK { <urn:x:a> ?p ?o }", PRODUCT + "# again", "ASK { ?s ?p 7 }", "ASK { broken"]
    decisions = decisions_of(evaluator, [Candidate(FIRST, index, text, "sparql") for index, text in enumerate(texts)])
    assert [decision.matched for decision in decisions] == [False, True, False, False, False]
    assert decisions[0].undecided == decisions[2].undecided == "budget: more than 100000 steps"
    assert decisions[1].undecided is decisions[3].undecided is None
    assert (decisions[4].undecided or "").startswith("query: ")


def test_a_pair_that_kills_its_child_is_tried_three_times_in_company_and_twice_alone() -> None:
    limits = Limits(seconds=0.6, memory=768 << 20, answer=1 << 20)
    with Evaluator(limits, steps=1 << 40) as evaluator:
        texts = ["ASK { ?s ?p 5 }", PRODUCT, "ASK { ?s ?p 7 }"]
        decisions = decisions_of(evaluator, [Candidate(FIRST, 1, text, "sparql") for text in texts])
        assert [decision.undecided for decision in decisions] == [
            None,
            "timeout: no answer within 0.6 s of CPU time",
            None,
        ]
        assert [decision.matched for decision in decisions] == [True, False, False]
        assert evaluator.children <= 4
        before = evaluator.children
        (alone,) = decisions_of(evaluator, [Candidate(FIRST, 1, PRODUCT, "sparql")])
        assert alone == decisions[1]
        assert evaluator.children - before <= 2


def test_more_queries_than_a_request_holds(evaluator: Evaluator) -> None:
    count = QUERIES_A_REQUEST + 10
    texts = [f"SELECT ?o {{ <urn:x:a> <urn:x:price> ?o FILTER(?o < {limit}) }}" for limit in range(count)]
    decisions = decisions_of(evaluator, [Candidate(FIRST, index, text, "sparql") for index, text in enumerate(texts)])
    assert [decision.matched for decision in decisions] == [limit > 5 for limit in range(count)]


def test_nothing_to_decide_starts_no_child() -> None:
    with Evaluator() as idle:
        assert decisions_of(idle, []) == []


def test_a_request_leaves_what_its_share_does_not_reach() -> None:
    each = STEPS_A_REQUEST // 2 + 1
    request = write_request(
        EvaluationInput(FIRST, each), [(PRODUCT, "sparql"), (PRODUCT + " ", "sparql"), ("ASK { }", "sparql")]
    )
    kinds = [outcome.kind for outcome in read_answer(answer(request))]
    assert kinds == ["undecided", "undecided", "later"]


def test_bindings_that_are_too_long_are_told_before_they_are_written() -> None:
    long = published("".join(f':s{i} :p "{i}{"x" * 20_000}" . ' for i in range(40)))
    graphs = open_publication(long)
    outcome = decide("SELECT * { ?a ?b ?c . ?d ?e ?f }", "sparql", long, graphs, Budget())
    assert outcome == Outcome("undecided", b"", "answer: more than 16777216 bytes of bindings")
    assert decide("SELECT * { ?a ?b ?c }", "sparql", long, graphs, Budget()).kind == "matched"


def test_a_publication_that_is_none_is_undecided(evaluator: Evaluator) -> None:
    torn = published("", graph="urn:x:torn")
    torn = type(torn)(1, torn.graph, 1, torn.accepted_at, b"<urn:x:a> <urn:x")
    (first, second) = decisions_of(
        evaluator, [Candidate(torn, 1, "ASK { }", "sparql"), Candidate(FIRST, 1, "ASK { }", "sparql")]
    )
    assert (first.undecided or "").startswith("error: ")
    assert second.matched


DEEPEST = {
    "OPTIONAL": "SELECT * { ?s ?p ?o " + "OPTIONAL { ?s ?p ?o } " * (MAX_DEPTH - 5) + "}",
    "MINUS": "SELECT * { ?s ?p ?o " + "MINUS { ?x ?y 1 } " * (MAX_DEPTH - 5) + "}",
    "BIND": "SELECT * { ?s ?p ?o " + "".join(f"BIND(?o AS ?b{i}) " for i in range(MAX_DEPTH - 5)) + "}",
    "not": "ASK { ?s ?p ?o FILTER(" + "!" * (MAX_DEPTH - 6) + "?o) }",
    "plus": "ASK { ?s ?p ?o FILTER(" + "1+" * (MAX_DEPTH - 6) + "1 > 9) }",
    "EXISTS": "ASK " + "{ ?s ?p ?o FILTER EXISTS " * (MAX_DEPTH // 2 - 2) + "{ ?s ?p ?o }" + "}" * (MAX_DEPTH // 2 - 2),
    "sub-select": "ASK " + "{ SELECT * " * (MAX_NESTING // 2 - 1) + "{ ?s ?p ?o }" + "}" * (MAX_NESTING // 2 - 1),
    "path": "ASK { :a " + "^(" * (MAX_NESTING - 2) + ":p*" + ")" * (MAX_NESTING - 2) + " ?o }",
    "GRAPH": "ASK " + "{ GRAPH ?g " * (MAX_NESTING // 2 - 1) + "{ ?s ?p ?o }" + "}" * (MAX_NESTING // 2 - 1),
    "UNION": "ASK { " + "{ ?s ?p 6 } UNION " * 2_000 + "{ ?s ?p ?o } }",
}


@pytest.mark.parametrize("text", DEEPEST.values(), ids=DEEPEST)
def test_the_deepest_queries_that_parse_are_evaluated(text: str) -> None:
    """At Python's default recursion limit."""
    outcome = decide(PREFIXES + text, "sparql", FIRST, open_publication(FIRST), Budget())
    assert outcome.kind == "matched", outcome.reason
    assert explain_pair(Subscription("deep.rq", PREFIXES + text), FIRST).matched


def test_a_query_that_does_not_parse_is_undecided() -> None:
    text = "ASK { FILTER(" + "(" * 150 + "1" + ")" * 150 + ") }"
    outcome = decide(text, "sparql", FIRST, open_publication(FIRST), Budget())
    assert outcome.kind == "undecided"
    assert outcome.reason.startswith("query: ")


def test_answers_are_the_same_under_any_hash_seed() -> None:
    import subprocess
    import sys

    script = (
        "from tests.unit.evaluate.evaluate_samples import published, solve\n"
        "from triplecast.evaluate import bindings_json\n"
        "doc = published(':a :p :b , :c , 1 ; :q :c . :c :p :a , \"x\"@en .')\n"
        "text = 'SELECT ?s (SAMPLE(?o) AS ?x) (GROUP_CONCAT(?o) AS ?y) { ?s (:p|:q)+ ?o } GROUP BY ?s'\n"
        "print(bindings_json(solve(text, doc)))\n"
        "print(bindings_json(solve('SELECT DISTINCT ?s (BNODE() AS ?z) { ?s ?p ?o } LIMIT 3', doc)))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 2
