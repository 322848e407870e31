"""What the step budget counts: long texts too, so that *undecided* does not depend on the machine (semantics 1.6)."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode

from tests.unit.evaluate.evaluate_samples import PREFIXES, answers, published, solve
from triplecast.evaluate import Budget, BudgetExceeded, Candidate, Evaluator, evaluate
from triplecast.evaluate.budget import BYTES_A_STEP, DEFAULT_STEPS, ENTRIES_A_STEP, LONGEST_FREE
from triplecast.evaluate.evaluator import LIMITS, QUERIES_A_REQUEST
from triplecast.evaluate.functions import BUILTINS
from triplecast.evaluate.regex import LONGEST_PATTERN, PATTERN_MEMORY, PIECES_A_STEP, replace
from triplecast.evaluate.rows import FEW, Numbering, Row, in_canonical_order
from triplecast.languages import parse_query
from triplecast.languages.tokens import FUNCTIONS
from triplecast.model.match import INDEX_SOLUTIONS, PAIR_BYTES
from triplecast.model.publication import Publication
from triplecast.terms.casts import CASTS
from triplecast.terms.values import XSD

LENGTH = 100_000
MANY = published(f':long :text "{"x" * LENGTH}" . ' + "".join(f":s{i} :p {i} . " for i in range(1_500)))
ONE = published(f':long :text "{"x" * LENGTH}" .')


def steps(text: str, publication: Publication) -> int:
    budget = Budget()
    evaluate(parse_query(PREFIXES + text), publication, budget)
    return budget.steps - budget.left


def test_many_rows_beside_one_long_literal_are_decided() -> None:
    """Its text is ranked once, not once a row; each of these kept 150 MB and more."""
    texts = {
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?l :text ?t }": "1500",
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?s :p ?o . ?l :text ?t }": "1500",
        "SELECT (COUNT(DISTINCT ?t) AS ?n) { ?s :p ?o . ?l :text ?t }": "1",
        "SELECT (COUNT(?t) AS ?n) (SUM(?o) AS ?z) { ?s :p ?o . ?l :text ?t }": "1500",
        "SELECT (STRLEN(MIN(?t)) AS ?n) { ?s :p ?o . ?l :text ?t }": str(LENGTH),
        "SELECT (COUNT(?c) AS ?n) { SELECT ?t (COUNT(*) AS ?c) { ?s :p ?o . ?l :text ?t } GROUP BY ?t }": "1",
        "SELECT ?n { ?s :p ?n . ?l :text ?t } ORDER BY ?t DESC(?n) LIMIT 1": "1499",
        "SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?s ?t { ?s :p ?o . ?l :text ?t } }": "1500",
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o . { SELECT ?l ?t { ?l :text ?t } } }": "1500",
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?l :text ?t MINUS { ?l :text ?t ; :none ?x } }": "1500",
    }
    tracemalloc.start()
    try:
        for text, expected in texts.items():
            assert [row["n"] for row in answers(text, MANY)] == [expected], text
            assert steps(text, MANY) < 50_000, text
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


def test_a_construct_ranks_terms_once() -> None:
    assert len(solve("CONSTRUCT { ?s :q ?t } { ?s :p ?o . ?l :text ?t }", MANY).graph) == 1_500


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?l :text ?t OPTIONAL { ?t ?x ?y } }",
        "ASK { ?l :text ?t . ?s :p ?o FILTER(?t = ?o) }",
        "ASK { ?l :text ?t . ?s :p ?o FILTER(?t IN (?o)) }",
        "ASK { ?l :text ?t . ?s :p ?o FILTER(!(?t || ?o)) }",
        "ASK { ?l :text ?t . ?s :p ?o FILTER(?t + ?o) }",
        "SELECT (GROUP_CONCAT(?t) AS ?n) { ?s :p ?o . ?l :text ?t }",
        "SELECT (SUM(?t) AS ?n) { ?s :p ?o . ?l :text ?t }",
        "SELECT (BNODE(?t) AS ?n) { ?s :p ?o . ?l :text ?t }",
        "SELECT (BNODE() AS ?n) { ?s :p ?o . ?l :text ?t }",
        "SELECT (IRI(?t) AS ?n) { ?s :p ?o . ?l :text ?t }",
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o . ?l :text ?t OPTIONAL { ?t :p+ ?x } }",
        'ASK { ?s :p ?o FILTER EXISTS { ?x ?y "' + "y" * LENGTH + '" } }',
        "ASK { BIND(STRDT('x', IRI(CONCAT('urn:', REPLACE(STR(0), '0', '" + "x" * LENGTH + "')))) AS ?t) "
        "?s :p ?o FILTER(?t = ?o) }",
    ],
)
def test_a_long_text_read_for_every_row_spends_the_budget(text: str) -> None:
    with pytest.raises(BudgetExceeded):
        solve(text, MANY, steps=500_000)


def test_rows_of_many_bindings_cost_more() -> None:
    names = " ".join(f"?v{i}" for i in range(800))
    rows = f"({'1 ' * 800}) " * 30
    with pytest.raises(BudgetExceeded):
        solve(f"SELECT * {{ VALUES ({names}) {{ {rows} }} ?s :p ?o }}", MANY)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"BOUND", "IF", "COALESCE", "NOW"}))
def test_every_function_pays_for_long_text(name: str) -> None:
    """Also one that fails or gives something short, such as STRLEN."""
    least, most = FUNCTIONS[name]
    arguments = ", ".join(["?t"] * (most or 2))
    spent = steps(f"SELECT ({name}({arguments}) AS ?x) {{ :long :text ?t }}", ONE)
    floor = steps("SELECT ?t { :long :text ?t }", ONE)
    assert spent - floor >= LENGTH // 64 * (1 if most != 0 else 0)
    assert least <= (most or 2)


def test_casts_pay_for_long_text() -> None:
    floor = steps("SELECT ?t { :long :text ?t }", ONE)
    assert steps("SELECT (xsd:integer(?t) AS ?x) { :long :text ?t }", ONE) - floor >= LENGTH // 64


def test_a_concatenation_is_charged_before_it_is_held() -> None:
    text = "ASK { ?l :text ?t FILTER(CONCAT(" + ",".join(["?t"] * 2_000) + ") = '') }"
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded):
            solve(text, ONE, steps=20_000)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_what_is_undecided_is_so_by_steps_in_the_sandbox() -> None:
    """This pair once killed four children."""
    text = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o . ?l <urn:x:text> ?t }"
    with Evaluator() as evaluator:
        decisions = dict(
            evaluator.decide(
                [
                    Candidate(MANY, 1, text, "sparql"),
                    Candidate(MANY, 2, PREFIXES + "ASK { ?l :text ?t . ?s :p ?o FILTER(?t = ?o) }", "sparql"),
                ]
            )
        )
    assert decisions[0].matched
    assert decisions[1].undecided == "budget: more than 500000 steps"


def test_canonical_order_is_that_of_the_text_with_unbound_first() -> None:
    rows: Sequence[Row] = (
        {"x": NamedNode("urn:a")},
        {"x": Literal("b"), "y": NamedNode("urn:a")},
        {"y": Literal("z")},
        {"x": Literal("b")},
    )
    assert in_canonical_order(rows, Numbering(Budget())) == [rows[2], rows[3], rows[1], rows[0]]


def test_groups_are_ordered_only_for_aggregates_that_see_it() -> None:
    plain, seen = (steps(f"SELECT ({what} AS ?n) {{ ?s :p ?o }}", MANY) for what in ("COUNT(?o)", "GROUP_CONCAT(?o)"))
    assert seen - plain >= 1_500


def test_every_function_of_the_language_is_evaluated_with_the_same_arity() -> None:
    """Two lists of one thing: what the parser lets through and what the evaluator applies."""
    in_expressions = {"BOUND", "IF", "COALESCE", "NOW", "BNODE", "IRI", "URI"}
    keywords = {name: builtin for name, builtin in BUILTINS.items() if ":" not in name}
    assert {name: (builtin.least, builtin.most) for name, builtin in keywords.items()} == {
        name: arity for name, arity in FUNCTIONS.items() if name not in in_expressions
    }


SLOW_EXPRESSIONS = {
    "one that needs all its positions at once": ('"(a|b|c)"', 1_400, ONE),
    "one of many classes, for each row": ('"[\\\\w]"', 9, MANY),
    "one that is too large to compile, for each row": ('"\\\\w"', 300, MANY),
}


@pytest.mark.parametrize(("unit", "times", "doc"), SLOW_EXPRESSIONS.values(), ids=SLOW_EXPRESSIONS)
def test_expressions_cost_what_they_take(unit: str, times: int, doc: Publication) -> None:
    pattern = unit[1:-1] * times
    if doc is ONE:
        text = f"SELECT * {{ ?s ?p ?o FILTER(REGEX(?o, '{pattern}') || REGEX(?o, '{pattern}y')) }}"
    else:
        text = f"SELECT * {{ ?s :p ?o FILTER(REGEX('x', CONCAT('{pattern}', STR(?o)))) }}"
    with pytest.raises(BudgetExceeded):
        solve(text, doc, steps=500_000)


def test_an_expression_is_compiled_once_an_evaluation() -> None:
    text = "SELECT * {{ ?s :p ?o FILTER(REGEX('{}', '\\\\w+@\\\\w+[.]org')) }}"
    assert steps(text.format("x"), MANY) < 20_000
    prose = published("".join(f':s{i} :p "{"many words " * 100}" . ' for i in range(300)))
    assert steps("SELECT * { ?s :p ?o FILTER(REGEX(?o, '\\\\w+@\\\\w+[.]org')) }", prose) < 30_000


def test_the_limits_are_documented_with_their_values() -> None:
    text = (Path(__file__).parents[3] / "docs" / "language.md").read_text()
    rows = {
        "steps": f"{DEFAULT_STEPS:,}",
        "bytes of the bindings": f"{PAIR_BYTES:,}",
        "characters of a regular expression": f"{LONGEST_PATTERN:,}",
        "memory of a regular expression": f"{PATTERN_MEMORY:,} bytes",
        "CPU seconds of a request, memory above the evaluator's own": f"{LIMITS.seconds:g}, {LIMITS.memory >> 20} MiB",
    }
    for name, value in rows.items():
        assert f"|{name}|{value}|" in text
    prose = " ".join(text.split())
    assert f"one more for every {ENTRIES_A_STEP} variables that it binds" in prose
    assert f"{BYTES_A_STEP} characters of a term longer than {LONGEST_FREE}" in prose
    assert f"up to {QUERIES_A_REQUEST} queries of one publication" in prose
    assert f"beyond {INDEX_SOLUTIONS:,} solutions" in prose
    for iri in CASTS:
        assert f"`xsd:{iri.removeprefix(XSD)}`" in text
    assert answers('ASK { FILTER(REGEX("é", "^\\\\w$")) }', ONE) == [{}]
    assert answers('ASK { BIND(REPLACE("ab", "x*", "-") AS ?x) FILTER(!BOUND(?x)) }', ONE) == [{}]
    assert answers("ASK { BIND(NOW() - NOW() AS ?x) FILTER(!BOUND(?x)) }", ONE) == [{}]


def test_few_rows_and_many_are_ordered_alike() -> None:
    rows: list[Row] = [{"x": Literal(str(i % 7)), "y": NamedNode(f"urn:{i}")} for i in range(FEW // 2)]
    few = in_canonical_order(rows, Numbering(Budget()))
    many = in_canonical_order([*rows, {"y": NamedNode("urn:0")}], Numbering(Budget()))
    assert many[0] == {"y": NamedNode("urn:0")}
    assert many[1:] == few


def test_each_group_of_a_replacement_takes_steps() -> None:
    """Each may be a character: the length of what is written does not say how many were put together."""
    budget = Budget(1_000_000)
    assert replace("a" * 1_000, "a", "$0" * 1_000, "", budget) == "a" * 1_000_000
    assert budget.steps - budget.left > 1_000 * 1_000 // PIECES_A_STEP
