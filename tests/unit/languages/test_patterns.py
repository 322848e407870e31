"""Groups, triples and paths as SPARQL 1.1 Query, section 18.2.2, translates them."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from triplecast.languages import parse_query
from triplecast.model.algebra import (
    Alternative,
    BasicPattern,
    Call,
    Exists,
    Extend,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    NegatedSet,
    Operation,
    PathPattern,
    Pattern,
    Project,
    Repeat,
    Sequence,
    TriplePattern,
    Union,
    Values,
    Variable,
)

S, P, T, X, Y = (Variable(name) for name in "spoxy")
A, B, C = (NamedNode(f"http://example.org/{name}") for name in "abc")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE, FIRST, REST, NIL = (NamedNode(RDF + name) for name in ("type", "first", "rest", "nil"))
ONE = Literal("1", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
SPO = BasicPattern((TriplePattern(S, P, T),))
SAX = BasicPattern((TriplePattern(S, A, X),))
EMPTY = BasicPattern(())


def where(group: str) -> Pattern:
    return parse_query(f"PREFIX : <http://example.org/> ASK {group}").pattern


def test_adjacent_triples_are_one_basic_pattern_whatever_filters_stand_between() -> None:
    pattern = where("{ ?s ?p ?o FILTER(?o = 1) ?s :a ?x . FILTER(?x = 1) }")
    both = BasicPattern((TriplePattern(S, P, T), TriplePattern(S, A, X)))
    assert pattern == Filter(Operation("&&", (Operation("=", (T, ONE)), Operation("=", (X, ONE)))), both)


def test_the_empty_group_is_the_empty_basic_pattern_and_joins_to_nothing() -> None:
    assert where("{}") == EMPTY
    assert where("{ {} { ?s ?p ?o } {} }") == SPO


def test_subgroups_join_in_order() -> None:
    assert where("{ ?s ?p ?o { ?s :a ?x } }") == Join(SPO, SAX)


def test_a_filter_of_a_subgroup_stays_in_it() -> None:
    inner = Filter(Operation("=", (T, ONE)), SPO)
    assert where("{ ?s :a ?x { ?s ?p ?o FILTER(?o = 1) } }") == Join(SAX, inner)


def test_optional_takes_the_filters_of_its_own_group_as_condition() -> None:
    condition = Operation("=", (X, ONE))
    assert where("{ ?s ?p ?o OPTIONAL { ?s :a ?x FILTER(?x = 1) } }") == LeftJoin(SPO, SAX, condition)
    assert where("{ ?s ?p ?o OPTIONAL { { ?s :a ?x FILTER(?x = 1) } } }") == LeftJoin(SPO, Filter(condition, SAX), None)


def test_a_lone_optional_extends_the_empty_solution() -> None:
    assert where("{ OPTIONAL { ?s ?p ?o } }") == LeftJoin(EMPTY, SPO, None)


def test_minus_bind_and_triples_apply_in_the_order_of_the_text() -> None:
    pattern = where("{ ?s ?p ?o MINUS { ?s :a ?x } BIND(?o AS ?y) ?s :a ?x }")
    assert pattern == Join(Extend(Minus(SPO, SAX), Y, T), SAX)


def test_union_keeps_the_order_of_its_branches() -> None:
    pattern = where("{ { ?s ?p ?o } UNION { ?s :a ?x } UNION { } }")
    assert pattern == Union(Union(SPO, SAX), EMPTY)


def test_graph_by_name_and_by_variable() -> None:
    assert where("{ GRAPH :a { ?s ?p ?o } }") == Graph(A, SPO)
    assert where("{ GRAPH ?x { ?s ?p ?o } }") == Graph(X, SPO)


def test_exists_and_not_exists() -> None:
    assert where("{ ?s ?p ?o FILTER EXISTS { ?s :a ?x } }") == Filter(Exists(SAX, False), SPO)
    assert where("{ ?s ?p ?o FILTER NOT EXISTS { ?s :a ?x } }") == Filter(Exists(SAX, True), SPO)


def test_values_in_both_forms() -> None:
    assert where("{ VALUES ?x { :a UNDEF 1 } }") == Values((X,), ((A,), (None,), (ONE,)))
    assert where("{ VALUES (?x ?y) { (:a UNDEF) (1 :b) } }") == Values((X, Y), ((A, None), (ONE, B)))
    assert where("{ VALUES () { () ( ) } }") == Values((), ((), ()))
    assert where("{ VALUES (?x) { } }") == Values((X,), ())


def test_a_subselect_stands_as_its_projection() -> None:
    assert where("{ ?s :a ?x { SELECT ?s { ?s ?p ?o } } }") == Join(SAX, Project(SPO, (S,)))


# ---- triples and nodes


def test_predicate_and_object_lists_and_the_word_a() -> None:
    pattern = where("{ ?s a :a, :b ; :c ?x ; ; . }")
    assert pattern == BasicPattern((TriplePattern(S, TYPE, A), TriplePattern(S, TYPE, B), TriplePattern(S, C, X)))


def test_a_collection_is_its_cells() -> None:
    one, two = Variable("_:b1"), Variable("_:b2")
    assert where("{ ?s :a (?x :b) }") == BasicPattern(
        (
            TriplePattern(S, A, one),
            TriplePattern(one, FIRST, X),
            TriplePattern(one, REST, two),
            TriplePattern(two, FIRST, B),
            TriplePattern(two, REST, NIL),
        )
    )
    assert where("{ ?s :a () }") == BasicPattern((TriplePattern(S, A, NIL),))


def test_blank_nodes_are_hidden_variables() -> None:
    pattern = where("{ _:x :a [] ; :b [ :c _:x ] . [ :a ?x ] }")
    assert isinstance(pattern, BasicPattern)
    nodes = {node for edge in pattern.triples for node in (edge.subject, edge.object) if isinstance(node, Variable)}
    assert {node.hidden for node in nodes - {X}} == {True}
    assert len(nodes - {X}) == 4
    assert parse_query("SELECT * { _:x ?p [] }").variables == (P,)


def test_a_label_may_be_used_throughout_one_basic_pattern_also_across_a_filter() -> None:
    pattern = where("{ _:x :a ?x FILTER(?x = 1) _:x :b ?y }")
    assert isinstance(pattern, Filter)
    assert isinstance(pattern.pattern, BasicPattern)
    first, second = pattern.pattern.triples
    assert first.subject == second.subject


def test_a_literal_may_be_a_subject() -> None:
    assert where("{ 1 :a ?x }") == BasicPattern((TriplePattern(ONE, A, X),))


# ---- paths


@pytest.mark.parametrize(
    ("path", "edge"),
    [
        (":a", TriplePattern(S, A, T)),
        ("(:a)", TriplePattern(S, A, T)),
        ("a", TriplePattern(S, TYPE, T)),
        ("^:a", TriplePattern(T, A, S)),
        ("^(^:a)", TriplePattern(S, A, T)),
        (":a/:b", PathPattern(S, Sequence((A, B)), T)),
        (":a/^:b", PathPattern(S, Sequence((A, Inverse(B))), T)),
        ("(:a/:b)/:c", PathPattern(S, Sequence((A, B, C)), T)),
        (":a|:b|(:c|:a)", PathPattern(S, Alternative((A, B, C, A)), T)),
        (":a/:b|:c", PathPattern(S, Alternative((Sequence((A, B)), C)), T)),
        (":a*", PathPattern(S, Repeat(A, 0, True), T)),
        (":a+", PathPattern(S, Repeat(A, 1, True), T)),
        (":a?", PathPattern(S, Repeat(A, 0, False), T)),
        ("^:a*", PathPattern(S, Inverse(Repeat(A, 0, True)), T)),
        ("(^:a)*", PathPattern(S, Repeat(Inverse(A), 0, True), T)),
        ("!:a", PathPattern(S, NegatedSet((A,), ()), T)),
        ("!^:a", PathPattern(S, NegatedSet((), (A,)), T)),
        ("!(:a|^:b|a)", PathPattern(S, NegatedSet((A, TYPE), (B,)), T)),
        ("!()", PathPattern(S, NegatedSet((), ()), T)),
    ],
)
def test_a_path_stays_one_only_where_it_is_no_triple(path: str, edge: TriplePattern | PathPattern) -> None:
    assert where(f"{{ ?s {path} ?o }}") == BasicPattern((edge,))


def test_paths_and_triples_side_by_side_are_one_basic_pattern() -> None:
    assert where("{ ?s :a/:b ?o . ?s :a ?x }") == BasicPattern(
        (PathPattern(S, Sequence((A, B)), T), TriplePattern(S, A, X))
    )


# ---- expressions


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("?x = 1 || ?x = ?y || ?y = 1", ("||", ("=", X, ONE), ("=", X, Y), ("=", Y, ONE))),
        ("?x || ?y && ?s || ?o", ("||", X, ("&&", Y, S), T)),
        ("(?x && ?y) && (?s && ?o)", ("&&", X, Y, S, T)),
        ("?x - ?y - ?s", ("-", ("-", X, Y), S)),
        ("?x + ?y * ?s", ("+", X, ("*", Y, S))),
        ("(?x + ?y) / ?s", ("/", ("+", X, Y), S)),
        ("?x IN (1, ?y)", ("in", X, ONE, Y)),
        ("?x NOT IN ()", ("not in", X)),
        ("!?x", ("!", X)),
        ("!!?x", ("!", ("!", X))),
        ("- ?x", ("u-", X)),
        ("+ ?x", ("u+", X)),
        ("?x <= ?y", ("<=", X, Y)),
    ],
)
def test_operators_bind_and_chain_as_the_grammar_says(text: str, expression: tuple[object, ...]) -> None:
    def build(part: object) -> object:
        if not isinstance(part, tuple):
            return part
        return Operation(part[0], tuple(build(argument) for argument in part[1:]))

    assert where(f"{{ FILTER({text}) }}") == Filter(build(expression), EMPTY)  # type: ignore[arg-type]


def test_a_signed_number_after_an_operand_is_added() -> None:
    minus = Literal("-1", datatype=ONE.datatype)
    assert where("{ FILTER(?x -1) }") == Filter(Operation("+", (X, minus)), EMPTY)
    product = Operation("*", (minus, Y))
    assert where("{ FILTER(?x -1 * ?y) }") == Filter(Operation("+", (X, product)), EMPTY)


def test_functions_are_named_in_upper_case_and_casts_by_iri() -> None:
    assert where("{ FILTER regex(?x, 'a', \"i\") }") == Filter(Call("REGEX", (X, Literal("a"), Literal("i"))), EMPTY)
    assert where("{ FILTER(xsd:integer(?x)) }") == Filter(Call("http://www.w3.org/2001/XMLSchema#integer", (X,)), EMPTY)
    assert where("{ FILTER(now()) }") == Filter(Call("NOW", ()), EMPTY)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("LANG(?x) = 'EN-us'", "en-us"),
        ("'EN-us' != lang(?x)", "en-us"),
        ("LANG(?x) IN ('EN-us')", "en-us"),
        ("'EN-us' NOT IN (LANG(?x))", "en-us"),
        ("STR(?x) = 'EN-us'", "EN-us"),
        ("LANGMATCHES(LANG(?x), 'EN-us')", "EN-us"),
        ("LANG(?x) < 'EN-us'", "EN-us"),
    ],
)
def test_constants_that_equality_compares_with_lang_are_lower_case(text: str, tag: str) -> None:
    pattern = where(f"{{ FILTER({text}) }}")
    assert isinstance(pattern, Filter)
    assert isinstance(pattern.condition, Operation | Call)
    assert Literal(tag) in pattern.condition.arguments
