"""The operators of the algebra on small publications."""

from __future__ import annotations

import pytest

from tests.unit.evaluate.evaluate_samples import answers, published, solve
from triplecast.evaluate import Budget, BudgetExceeded, bindings_json, evaluate, result_on_empty
from triplecast.languages import parse_query

DOC = published(
    """:a :p :b ; :price 5 ; :name "A" .
       :b :p :c ; :price 07 ; :name "B"@en .
       :c :p :a , :c ; :price 9.5 ."""
)

NOON_UTC = "'2026-01-01T12:00:00Z'^^xsd:dateTime"
NOON_IN_PARIS = "'2026-01-01T13:00:00+01:00'^^xsd:dateTime"


def column(text: str, name: str) -> list[str | None]:
    return [row.get(name) for row in answers(text, DOC)]


def test_basic_patterns_join_in_every_position() -> None:
    assert answers("SELECT * { ?s :p ?o . ?o :name ?n }", DOC) == [
        {"n": '"A"', "o": ":a", "s": ":c"},
        {"n": '"B"@en', "o": ":b", "s": ":a"},
    ]
    assert column("SELECT * { ?x :p ?x }", "x") == [":c"]
    assert column("SELECT ?q { :a ?q 5 }", "q") == [":price"]
    assert answers("SELECT * { ?p ?p ?o }", DOC) == []
    assert solve("ASK { ?x :p ?y . ?y :p ?z . ?z :p ?x }", DOC).rows == ((),)


def test_patterns_compare_terms_and_filters_compare_values() -> None:
    assert answers("SELECT * { ?s :price 7 }", DOC) == []
    assert column("SELECT * { ?s :price 07 }", "s") == [":b"]
    assert column("SELECT ?s { ?s :price ?v FILTER(?v = 7) }", "s") == [":b"]
    assert column('SELECT ?s { ?s :name ?v FILTER(?v = "B") }', "s") == []


def test_blank_nodes_of_a_query_are_variables_that_are_not_shown() -> None:
    assert answers("SELECT * { [] :p ?o . ?o :price 5 }", DOC) == [{"o": ":a"}]
    assert answers("SELECT * { _:x :p _:x }", DOC) == [{}]


def test_union_keeps_duplicates_and_distinct_drops_them() -> None:
    assert column("SELECT ?s { { ?s :p :b } UNION { ?s :price 5 } }", "s") == [":a", ":a"]
    assert column("SELECT DISTINCT ?s { { ?s :p :b } UNION { ?s :price 5 } }", "s") == [":a"]
    assert column("SELECT REDUCED ?s { { ?s :p :b } UNION { ?s :price 5 } }", "s") == [":a", ":a"]


def test_optional_keeps_the_left_side_and_its_filter_sees_both() -> None:
    assert answers("SELECT ?s ?n { ?s :price ?v OPTIONAL { ?s :name ?n FILTER(?v < 6) } }", DOC) == [
        {"s": ":b"},
        {"s": ":c"},
        {"n": '"A"', "s": ":a"},
    ]
    assert column("SELECT ?s { ?s :price ?v OPTIONAL { ?s :name ?n } FILTER(!BOUND(?n)) }", "s") == [":c"]


def test_filter_in_a_nested_group_does_not_see_outside() -> None:
    assert answers("SELECT * { ?s :price ?v { ?s :name ?n FILTER(?v < 6) } }", DOC) == []


def test_bind_and_values() -> None:
    assert column("SELECT ?w { ?s :price ?v BIND(?v + 1 AS ?w) } ORDER BY ?w LIMIT 1", "w") == ["6"]
    assert answers("SELECT ?s ?e { ?s :name ?n BIND(?n + 1 AS ?e) }", DOC) == [{"s": ":a"}, {"s": ":b"}]
    assert answers("SELECT * { VALUES (?s ?v) { (:a 5) (:b UNDEF) (:z 1) } ?s :price ?v }", DOC) == [
        {"s": ":a", "v": "5"},
        {"s": ":b", "v": "07"},
    ]


def test_minus_needs_a_shared_variable() -> None:
    assert column("SELECT ?s { ?s :price ?v MINUS { ?s :name ?n } }", "s") == [":c"]
    assert column("SELECT ?s { ?s :price ?v MINUS { ?x :name ?n } }", "s") == [":a", ":b", ":c"]
    assert column("SELECT ?s { ?s :price ?v MINUS { :a :p ?x } }", "s") == [":a", ":b", ":c"]


def test_exists_sees_the_solution() -> None:
    assert column("SELECT ?s { ?s :price ?v FILTER EXISTS { ?s :name ?n } }", "s") == [":a", ":b"]
    assert column("SELECT ?s { ?s :price ?v FILTER NOT EXISTS { ?x :price ?w FILTER(?w > ?v) } }", "s") == [":c"]
    assert column("SELECT ?s { ?s :price ?v FILTER EXISTS { ?t :p ?s MINUS { ?t :name ?n } } }", "s") == [":a", ":c"]
    assert column("SELECT ?s { ?s :price ?v FILTER EXISTS { ?t :p ?s MINUS { ?y :name ?n } } }", "s") == [
        ":a",
        ":b",
        ":c",
    ]
    nested = "SELECT ?s { ?s :price ?v FILTER EXISTS { SELECT ?s { ?s :p ?o FILTER NOT EXISTS { ?o :name ?m } } } }"
    assert column(nested, "s") == [":b", ":c"]


def test_exists_inside_a_subselect_keeps_unprojected_variables_apart() -> None:
    assert column("SELECT ?s { ?s :name ?n FILTER EXISTS { SELECT ?o { ?s :p ?o . ?s :price 9.5 } } }", "s") == [
        ":a",
        ":b",
    ]


def test_subselect_joins_on_what_it_projects() -> None:
    text = "SELECT ?s ?m { ?s :price ?v { SELECT (MAX(?w) AS ?m) { ?x :price ?w } } FILTER(?v = ?m) }"
    assert answers(text, DOC) == [{"m": '"9.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', "s": ":c"}]


def test_a_limit_in_a_subselect_takes_from_the_canonical_order() -> None:
    assert column("SELECT ?s { { SELECT ?s { ?s :p ?o } LIMIT 2 } }", "s") == [":a", ":b"]


def test_grouping_and_having() -> None:
    text = "SELECT ?s (COUNT(?o) AS ?n) { ?s :p ?o } GROUP BY ?s HAVING(COUNT(?o) > 1)"
    assert answers(text, DOC) == [{"n": "2", "s": ":c"}]
    assert answers("SELECT (COUNT(*) AS ?n) { ?s :nothing ?o }", DOC) == [{"n": "0"}]
    assert answers("SELECT ?s (COUNT(*) AS ?n) { ?s :nothing ?o } GROUP BY ?s", DOC) == []
    assert answers("SELECT (COUNT(DISTINCT *) AS ?n) { { ?s :p :c } UNION { ?s :p :c } }", DOC) == [{"n": "2"}]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("COUNT(?v)", "3"),
        ("COUNT(?s + 1)", "0"),
        ("SUM(?v)", '"21.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ("MIN(?v)", "5"),
        ("MIN(?s)", ":a"),
        ("SAMPLE(?s)", ":a"),
        ('GROUP_CONCAT(?v ; separator=",")', '"5,07,9.5"'),
        ("GROUP_CONCAT(DISTINCT ?q)", '"urn:x:price"'),
        ("AVG(?s)", None),
        ("SUM(?s)", None),
    ],
)
def test_aggregates(aggregate: str, expected: str | None) -> None:
    assert column(f"SELECT ({aggregate} AS ?x) {{ ?s ?q ?v FILTER(?q = :price) }}", "x") == [expected]


def test_aggregates_of_nothing() -> None:
    text = "SELECT (SUM(?v) AS ?a) (AVG(?v) AS ?b) (MIN(?v) AS ?c) (GROUP_CONCAT(?v) AS ?d) { ?s :no ?v }"
    assert answers(text, DOC) == [{"a": "0", "b": "0", "d": '""'}]


def test_order_goes_before_the_canonical_order_and_projection_breaks_ties() -> None:
    assert column("SELECT ?s { ?s :price ?v } ORDER BY DESC(?v)", "s") == [":c", ":b", ":a"]
    assert column("SELECT ?o { ?s :p ?o } ORDER BY DESC(?nothing)", "o") == [":a", ":b", ":c", ":c"]
    assert column("SELECT ?s ?n { ?s :price ?v OPTIONAL { ?s :name ?n } } ORDER BY ?n OFFSET 1", "s") == [":b", ":a"]
    assert column("SELECT ?s { ?s :price ?v } ORDER BY (?v > 6) ?s LIMIT 2", "s") == [":a", ":b"]


@pytest.mark.parametrize(
    ("values", "keys", "expected"),
    [
        ("(1.0 2) (1 1) (01 3)", "?v ?w", ["1", "2", "3"]),
        ("(1.0 2) (1 1) (01 3)", "?v DESC(?w)", ["3", "2", "1"]),
        ("(1.0 2) (1 1) (2 0)", "DESC(?v) ?w", ["0", "1", "2"]),
        (f"({NOON_UTC} 2) ({NOON_IN_PARIS} 1)", "?v ?w", ["1", "2"]),
        (f"({NOON_UTC} 1) ({NOON_IN_PARIS} 2)", "DESC(?v) DESC(?w)", ["2", "1"]),
        ("('NaN'^^xsd:float 2) ('NaN'^^xsd:double 1)", "?v ?w", ["1", "2"]),
        ("('b' 2) ('a' 3) ('b' 1)", "?v ?w", ["3", "1", "2"]),
    ],
)
def test_the_next_key_decides_among_equal_values(values: str, keys: str, expected: list[str]) -> None:
    """SPARQL 15.1: terms of one value tie, however they are written."""
    assert column(f"SELECT ?w {{ VALUES (?v ?w) {{ {values} }} }} ORDER BY {keys}", "w") == expected


def test_graph_is_the_publication_itself() -> None:
    assert answers("SELECT ?g { GRAPH ?g { :a :p ?o } }", DOC) == [{"g": ":doc"}]
    assert solve("ASK { GRAPH :doc { :a :p :b } }", DOC).matched
    assert not solve("ASK { GRAPH :other { } }", DOC).matched
    assert solve("ASK { GRAPH ?g { } }", DOC).matched
    assert not solve("ASK { VALUES ?g { :other } GRAPH ?g { ?s ?p ?o } }", DOC).matched


def test_a_dataset_keeps_its_graphs() -> None:
    dataset = published(":a :p :b . :g { :b :p :c } :h { :c :p :d . :c :q :g }", dataset=True)
    assert answers("SELECT * { ?s ?q ?o }", dataset) == [{"o": ":b", "q": ":p", "s": ":a"}]
    assert [row["g"] for row in answers("SELECT ?g { GRAPH ?g { ?s :p ?o } }", dataset)] == [":g", ":h"]
    assert answers("SELECT ?g { GRAPH ?h { ?s :q ?g } GRAPH ?g { ?t :p ?s } }", dataset) == [{"g": ":g"}]
    assert answers("SELECT * { GRAPH ?g { ?s :q ?g } }", dataset) == []
    exists = "SELECT ?g { GRAPH ?g { ?s :p ?o FILTER EXISTS { ?s :q ?x } } }"
    assert answers(exists, dataset) == [{"g": ":h"}]


def test_construct_matches_by_its_triples() -> None:
    solutions = solve("CONSTRUCT { ?s :cost ?v . ?v :of ?s } { ?s :price ?v }", DOC)
    assert [str(triple[0]) for triple in solutions.graph] == ["<urn:x:a>", "<urn:x:b>", "<urn:x:c>"]
    assert solutions.variables == ("s", "v")
    assert len(solutions.rows) == 3
    nothing = solve("CONSTRUCT { ?v :of ?s } { ?s :price ?v }", DOC)
    assert len(nothing.rows) == 3
    assert not nothing.matched


def test_construct_makes_new_blank_nodes_for_each_solution() -> None:
    solutions = solve("CONSTRUCT { ?s :has _:n . _:n :cost ?v } { ?s :price ?v }", DOC)
    assert len(solutions.graph) == 6
    assert len({triple[2] for triple in solutions.graph if "has" in str(triple[1])}) == 3


def test_ask_has_one_empty_mapping() -> None:
    assert bindings_json(solve("ASK { :a :p ?o }", DOC)) == b"[{}]"
    unmatched = solve("ASK { :a :p :z }", DOC)
    assert (bindings_json(unmatched), unmatched.matched) == (b"[]", False)


def test_bindings_are_compact_json_with_sorted_keys() -> None:
    doc = published(':a :p "ü\\n\\"" .')
    assert (
        bindings_json(solve("SELECT ?z ?b { ?z :p ?b }", doc))
        == '[{"b":"\\"ü\\\\n\\\\\\"\\"","z":"<urn:x:a>"}]'.encode()
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * { ?s ?p ?o }", False),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", True),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING(COUNT(*) > 0)", False),
        ("SELECT * { OPTIONAL { ?s ?p ?o } }", True),
        ("ASK { FILTER NOT EXISTS { ?s ?p ?o } }", True),
        ("ASK { }", True),
        ("ASK { <urn:a> <urn:p>* ?x }", True),
        ("CONSTRUCT { <urn:a> <urn:p> ?x } { OPTIONAL { ?x ?p ?o } }", False),
    ],
)
def test_result_on_empty(text: str, expected: bool) -> None:
    assert result_on_empty(parse_query(text)) is expected


def test_result_on_empty_stops_at_the_first() -> None:
    values = "".join(f" VALUES ?x{i} {{ {'1 ' * 50} }}" for i in range(6))
    assert result_on_empty(parse_query(f"SELECT * {{ {values} }}"))
    assert result_on_empty(parse_query(f"SELECT * {{ {values} FILTER(?x0 + ?x5 > 2) }}"), steps=1_000)
    assert not result_on_empty(parse_query(f"SELECT * {{ {values} FILTER(?x0 > 1) }}"), steps=1_000)


def test_budget_is_deterministic_and_ends_a_product() -> None:
    query = parse_query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }")
    with pytest.raises(BudgetExceeded, match="more than 5000 steps"):
        evaluate(query, DOC, Budget(5_000))
    spent = []
    for _ in range(2):
        budget = Budget(1_000)
        evaluate(parse_query("SELECT * { ?a ?b ?c . ?c ?d ?e }"), DOC, budget)
        spent.append(budget.left)
    assert spent[0] == spent[1] < 1_000


def test_text_functions_cost_what_they_write() -> None:
    doubled = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(60))
    query = parse_query(f'SELECT ?x60 {{ BIND("x" AS ?x0) {doubled} }}')
    with pytest.raises(BudgetExceeded):
        evaluate(query, DOC, Budget(10_000))


def test_an_ask_stops_at_the_first_solution() -> None:
    assert solve("ASK { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }", DOC, steps=200).matched
