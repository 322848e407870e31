"""Grouping, aggregates and modifiers in the order of SPARQL 1.1 Query, section 18.2.4."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from triplecast.languages import parse_query
from triplecast.model.algebra import (
    Aggregate,
    BasicPattern,
    Call,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Operation,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Reduced,
    Slice,
    TriplePattern,
    Values,
    Variable,
)

S, P, T, X, C = (Variable(name) for name in "spoxc")
SPO = BasicPattern((TriplePattern(S, P, T),))
G = [Variable(f"_:g{number}") for number in range(6)]


def integer(text: str) -> Literal:
    return Literal(text, datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))


def test_modifiers_wrap_in_the_order_of_the_recommendation() -> None:
    query = parse_query(
        "SELECT DISTINCT ?s (STR(?o) AS ?x) { ?s ?p ?o } ORDER BY DESC(?x) ?s LIMIT 3 OFFSET 2 VALUES ?s { 1 }"
    )
    joined = Join(SPO, Values((S,), ((integer("1"),),)))
    ordered = OrderBy(Extend(joined, X, Call("STR", (T,))), ((X, True), (S, False)))
    assert query == Query("select", Slice(Distinct(Project(ordered, (S, X))), 2, 3), (S, X))


def test_select_star_takes_the_variables_in_order_of_appearance() -> None:
    query = parse_query("SELECT * { ?o ?p ?s OPTIONAL { ?s ?p ?x } MINUS { ?s ?p ?c } FILTER(?c) } VALUES ?c { 1 }")
    assert query.variables == (T, P, S, X, C)


def test_a_variable_named_twice_is_projected_once() -> None:
    assert parse_query("SELECT ?s ?s { ?s ?p ?o }").variables == (S,)


def test_reduced_and_offset_alone() -> None:
    assert parse_query("SELECT REDUCED ?s { ?s ?p ?o } OFFSET 1").pattern == Slice(Reduced(Project(SPO, (S,))), 1, None)
    assert parse_query("SELECT ?s { ?s ?p ?o } LIMIT 0").pattern == Slice(Project(SPO, (S,)), 0, 0)


def test_groups_having_and_selected_expressions() -> None:
    query = parse_query(
        "SELECT ?s (COUNT(DISTINCT ?o) AS ?c) { ?s ?p ?o } GROUP BY ?s HAVING (SUM(?o) > 1) ORDER BY AVG(?o)"
    )
    aggregates = (
        (G[1], Aggregate("COUNT", T, True)),
        (G[2], Aggregate("SUM", T, False)),
        (G[3], Aggregate("AVG", T, False)),
    )
    grouped = Group(SPO, (S,), aggregates)
    having = Filter(Operation(">", (G[2], integer("1"))), grouped)
    ordered = OrderBy(Extend(having, C, G[1]), ((G[3], False),))
    assert query.pattern == Project(ordered, (S, C))


def test_an_aggregate_without_group_by_makes_one_group() -> None:
    assert parse_query("SELECT (COUNT(*) AS ?c) { ?s ?p ?o }").pattern == Project(
        Extend(Group(SPO, (), ((G[1], Aggregate("COUNT", None, False)),)), C, G[1]), (C,)
    )


def test_keys_that_are_expressions_are_bound_below_the_group() -> None:
    query = parse_query("SELECT ?x { ?s ?p ?o } GROUP BY (STR(?s) AS ?x) LCASE(?o) (?p)")
    key = Variable("_:k1")
    below = Extend(Extend(SPO, X, Call("STR", (S,))), key, Call("LCASE", (T,)))
    assert query.pattern == Project(Group(below, (X, key, P), ()), (X,))


def test_a_variable_outside_aggregates_that_is_no_key_is_sampled() -> None:
    query = parse_query("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING (?o > 1) ORDER BY ?o ?s")
    sample = (G[1], Aggregate("SAMPLE", T, False))
    having = Filter(Operation(">", (G[1], integer("1"))), Group(SPO, (S,), (sample,)))
    assert query.pattern == Project(OrderBy(having, ((G[1], False), (S, False))), (S,))


def test_order_by_may_use_what_select_binds() -> None:
    query = parse_query("SELECT (COUNT(*) AS ?c) { ?s ?p ?o } GROUP BY ?s ORDER BY DESC(?c)")
    assert isinstance(query.pattern, Project)
    assert isinstance(query.pattern.pattern, OrderBy)
    assert query.pattern.pattern.conditions == ((C, True),)


def test_group_concat_has_a_separator() -> None:
    query = parse_query("SELECT (GROUP_CONCAT(DISTINCT ?o; SEPARATOR='\\n') AS ?x) (GROUP_CONCAT(?o) AS ?c) {?s ?p ?o}")
    assert isinstance(query.pattern, Project)
    inner = query.pattern.pattern
    while isinstance(inner, Extend):
        inner = inner.pattern
    assert isinstance(inner, Group)
    assert [aggregate for _, aggregate in inner.aggregates] == [
        Aggregate("GROUP_CONCAT", T, True, "\n"),
        Aggregate("GROUP_CONCAT", T, False, " "),
    ]


def test_aggregates_of_a_subselect_stay_in_it() -> None:
    query = parse_query("SELECT ?c { { SELECT (COUNT(*) AS ?c) { ?s ?p ?o } } }")
    assert query.pattern == Project(
        Project(Extend(Group(SPO, (), ((G[1], Aggregate("COUNT", None, False)),)), C, G[1]), (C,)), (C,)
    )


def test_ask_has_no_variables_and_may_have_modifiers() -> None:
    assert parse_query("ASK { ?s ?p ?o }") == Query("ask", SPO, ())
    assert parse_query("ASK { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1)").pattern == Filter(
        Operation(">", (G[1], integer("1"))), Group(SPO, (S,), ((G[1], Aggregate("COUNT", None, False)),))
    )


def test_construct_names_the_variables_of_where_and_makes_its_own_blank_nodes() -> None:
    query = parse_query("CONSTRUCT { ?s ?p _:x . _:x ?p ?s } WHERE { ?s ?p _:x . _:x ?p ?o } LIMIT 1")
    inner, outer = Variable("_:b1"), query.template[0].object
    where = BasicPattern((TriplePattern(S, P, inner), TriplePattern(inner, P, T)))
    assert query.pattern == Slice(where, 0, 1)
    assert query.variables == (S, P, T)
    assert isinstance(outer, Variable)
    assert outer.hidden
    assert outer != inner
    assert query.template == (TriplePattern(S, P, outer), TriplePattern(outer, P, S))


def test_construct_where_is_its_own_template() -> None:
    query = parse_query("CONSTRUCT WHERE { ?s ?p ?o }")
    assert query == Query("construct", SPO, (S, P, T), (TriplePattern(S, P, T),))
    assert parse_query("CONSTRUCT { } WHERE { ?s ?p ?o }").template == ()


def test_a_path_in_where_does_not_harm_a_template() -> None:
    query = parse_query("CONSTRUCT { ?s ?p ?o } WHERE { ?s rdf:rest*/rdf:first ?o }")
    assert isinstance(query.pattern, BasicPattern)
    assert isinstance(query.pattern.triples[0], PathPattern)
