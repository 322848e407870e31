"""One small case per construct, by hand."""

from __future__ import annotations

import json

import pytest

from tests.unit.match.match_samples import (
    AFTER_ALL,
    answer,
    match_all,
    matcher,
    matches_of,
    publication,
    registrations,
    snapshot_of,
)
from triplecast.index import IndexWriter, build_segment
from triplecast.kernels.rows import SOLUTIONS_LIMIT

FIVE = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'


def _columns(query: str, turtle: str, name: str) -> list[str]:
    found = answer(query, turtle)
    return [row[name].removeprefix("<http://e/").removesuffix(">") for row in json.loads(found)] if found else []


@pytest.mark.parametrize(
    ("query", "turtle", "wanted"),
    [
        ("SELECT * { ?x e:p ?y }", "e:a e:p 5", f'[{{"x":"<http://e/a>","y":{json.dumps(FIVE)}}}]'),
        ("SELECT ?x { ?x e:p e:c }", "e:a e:p e:d", None),
        ("SELECT ?x { ?x e:p ?x }", "e:a e:p e:a, e:b", '[{"x":"<http://e/a>"}]'),
        ("SELECT ?p { e:a ?p e:b }", "e:a e:p e:b ; e:q e:b", '[{"p":"<http://e/p>"},{"p":"<http://e/q>"}]'),
        ("SELECT ?x { ?x e:p ?y . ?y e:p ?z . ?z e:p ?x }", "e:a e:p e:b . e:b e:p e:c", None),
        ("SELECT ?n { ?x e:p ?y }", "e:a e:p e:b, e:c", "[{},{}]"),
        ("SELECT ?x { ?x e:p ?y }", "e:a e:p e:b, e:c", '[{"x":"<http://e/a>"},{"x":"<http://e/a>"}]'),
        ("SELECT DISTINCT ?x { ?x e:p ?y }", "e:a e:p e:b, e:c", '[{"x":"<http://e/a>"}]'),
        ("SELECT REDUCED ?n { ?x e:p ?y }", "e:a e:p e:b, e:c", "[{},{}]"),
        ("ASK { ?x e:p ?y }", "e:a e:p e:b, e:c", "[{}]"),
        ("ASK { e:a e:p e:b }", "e:a e:p e:b", "[{}]"),
        ("ASK { e:a e:p e:b }", "e:a e:p e:c", None),
        ("SELECT ?x { [] e:p ?x }", "_:n e:p e:b . _:m e:p e:b", '[{"x":"<http://e/b>"},{"x":"<http://e/b>"}]'),
        ("CONSTRUCT { ?x e:q ?y } { ?x e:p ?y }", "e:a e:p e:b", '[{"x":"<http://e/a>","y":"<http://e/b>"}]'),
        ("CONSTRUCT { ?y e:q ?x } { ?x e:p ?y }", "e:a e:p 5", None),
        ("SELECT ?x { ?x e:p/^e:q ?y }", "e:a e:p e:b . e:c e:q e:b", '[{"x":"<http://e/a>"}]'),
        ("SELECT (COUNT(*) AS ?n) { ?x e:p ?y } HAVING (COUNT(*) > 1)", "e:a e:q e:b", None),
        ("SELECT ?x { ?x e:p ?y } LIMIT 1", "e:a e:p 1 . e:b e:p 2", '[{"x":"<http://e/a>"}]'),
        ("SELECT ?x { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:q e:b", '[{"x":"<http://e/a>"}]'),
        ("SELECT ?x { ?x e:p '\"\\\\' }", "e:a e:p '\"\\\\'", '[{"x":"<http://e/a>"}]'),
        ("SELECT ?y { ?x e:p ?y }", "e:a e:p '\"\\\\\\n\\u0001'", '[{"y":"\\"\\\\\\"\\\\\\\\\\\\n\\\\u0001\\""}]'),
    ],
)
def test_answers(query: str, turtle: str, wanted: str | None) -> None:
    assert answer(query, turtle) == wanted


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("?y = 2", ["b"]),
        ("?y != 2", ["a", "c", "d"]),
        ("2 < ?y", ["c"]),
        ("?y >= 1 && ?y < 3", ["a", "b"]),
        ("?y IN (1, 3, e:x)", ["a", "c"]),
        ("?y NOT IN (1, 3)", ["b", "d"]),
        ("?y < 2 || ?y > 2", ["a", "c"]),
        ("!(?y = 2)", ["a", "c", "d"]),
        ("!(?y < 2)", ["b", "c"]),
        ("sameTerm(?y, 2)", ["b"]),
        ("?y = 2.0", ["b"]),
        ("?y = 'text'", ["d"]),
        ("?y > 'tex' && ?y < 'tey'", ["d"]),
        ("LANG(?y) = ''", ["a", "b", "c", "d"]),
        ("BOUND(?y)", ["a", "b", "c", "d"]),
    ],
)
def test_conditions(condition: str, wanted: list[str]) -> None:
    turtle = "e:a e:p 1 . e:b e:p 2 . e:c e:p 3 . e:d e:p 'text'"
    assert _columns(f"SELECT ?x {{ ?x e:p ?y FILTER({condition}) }}", turtle, "x") == wanted


def test_subscriptions_that_share_a_structure_differ_by_condition() -> None:
    queries = registrations(*(f"SELECT ?x {{ ?x e:p ?y FILTER(?y >= {low} && ?y <= {low + 2}) }}" for low in range(50)))
    found = match_all(queries, [publication("e:a e:p 10")])
    assert sorted(registration - 1 for _, registration in found) == [8, 9, 10]


def test_validity_is_an_open_interval() -> None:
    index = IndexWriter()
    query = registrations("SELECT ?x { ?x e:p ?y }", "SELECT ?x { ?x e:p ?y } LIMIT 5")
    snapshot = index.apply(query, [(1, 10), (2, 10)], 10)
    positions = (1, 2, 3, 9, 10, 11)
    found = matches_of(matcher().match(snapshot, [publication("e:a e:p 1", position) for position in positions]))
    assert [(positions[number], registration) for number, registration in found] == [
        (2, 1),
        (3, 1),
        (3, 2),
        (9, 1),
        (9, 2),
    ]


def test_dataset_shows_its_default_graph_to_patterns_and_all_graphs_to_graph() -> None:
    queries = registrations(
        "SELECT ?x { ?x e:p ?y }", "SELECT ?g ?x { GRAPH ?g { ?x e:p ?y } }", "SELECT ?x { ?x e:p ?y } ORDER BY ?x"
    )
    whole = publication("e:a e:p 1 . e:g { e:b e:p 2 }", dataset=True)
    named = publication("e:g { e:b e:p 2 }", dataset=True)
    alone = publication("e:a e:p 1")
    assert match_all(queries, [whole, named, alone]) == {
        (0, 1): b'[{"x":"<http://e/a>"}]',
        (0, 2): b'[{"g":"<http://e/g>","x":"<http://e/b>"}]',
        (0, 3): b'[{"x":"<http://e/a>"}]',
        (1, 2): b'[{"g":"<http://e/g>","x":"<http://e/b>"}]',
        (2, 1): b'[{"x":"<http://e/a>"}]',
        (2, 2): b'[{"g":"<http://g/1>","x":"<http://e/a>"}]',
        (2, 3): b'[{"x":"<http://e/a>"}]',
    }


def test_too_many_solutions_are_undecided_and_harm_no_neighbour() -> None:
    product = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    queries = registrations(f"SELECT * {product}", f"ASK {product}", "SELECT ?x { ?x e:p 7 }", f"SELECT ?a {product}")
    batch = matcher().match(
        snapshot_of([build_segment(queries)]), [publication(" ".join(f"e:n{i} e:p {i} ." for i in range(200)))]
    )
    assert [(doubt.publication, doubt.registration) for doubt in batch.undecided] == [(0, 1), (0, 4)]
    assert f"{SOLUTIONS_LIMIT:,} solutions" in batch.undecided[0].reason
    assert batch.registration.tolist() == [2, 3]


def test_a_join_without_end_is_undecided() -> None:
    cycle = " . ".join(f"?v{i} e:p ?v{(i + 1) % 7}" for i in range(7))
    dense = " ".join(f"e:n{i} e:p e:m{j} . e:m{i} e:p e:n{j} ." for i in range(20) for j in range(20))
    queries = registrations(f"SELECT ?v0 {{ {cycle} }}", "SELECT ?x { ?x e:p e:n1 }")
    batch = matcher().match(snapshot_of([build_segment(queries)]), [publication(dense)])
    assert [doubt.registration for doubt in batch.undecided] == [1]
    assert batch.registration.tolist() == [2]


def test_a_star_compares_only_objects_of_subjects_that_have_all_its_patterns() -> None:
    text = "e:a e:kind e:book ; e:price 3 . e:b e:price 9"
    star = "?x e:kind e:book ; e:price ?v FILTER"
    assert answer(f"ASK {{ {star}(?v > 5) }}", text) is None
    assert answer(f"ASK {{ {star}(?v > 2) }}", text) is not None
    assert answer(f"ASK {{ {star}(?v != 3) }}", text) is None
    assert answer(f"ASK {{ {star}(?x != e:a && ?v > 2) }}", text) is None
    assert answer(f"ASK {{ {star}(?x = e:a && ?v > 2) }}", text) is not None
    assert answer(f"ASK {{ {star}(?v > 2 || ?v < 0) }}", text) is not None


def test_a_star_is_decided_without_trying_the_products_of_its_objects() -> None:
    """300 thousand combinations of objects: more than `STEPS_LIMIT`."""
    many = " ".join(f"e:a e:p {i} ; e:q {i} ; e:r {i} ." for i in range(68))
    star = "?x e:p ?u ; e:q ?v ; e:r ?w FILTER"
    queries = registrations(f"ASK {{ {star}(?w > 1000) }}", f"ASK {{ {star}(?w > 66) }}")
    assert list(match_all(queries, [publication(many)])) == [(0, 2)]


def test_a_tree_is_decided_without_trying_its_paths() -> None:
    """216 thousand paths of two links: more than `STEPS_LIMIT`."""
    nodes = range(60)
    links = " ".join(f"e:n{i} e:l {', '.join(f'e:n{j}' for j in nodes)} ; e:p {i} ." for i in nodes)
    tree = "?x e:l ?y . ?y e:l ?z . ?z e:p ?v FILTER"
    queries = registrations(f"ASK {{ {tree}(?v > 1000) }}", f"ASK {{ {tree}(?v > 58) }}")
    assert list(match_all(queries, [publication(links)])) == [(0, 2)]


def test_a_tree_compares_only_ends_of_what_is_in_a_solution() -> None:
    """From both sides: what is compared hangs on the first, the middle or the last subject."""
    text = "e:a e:l e:b ; e:p 1 . e:b e:l e:c ; e:p 2 . e:c e:p 3 . e:d e:l e:e ; e:p 7 . e:e e:p 8 . e:f e:p 9"
    tree = "?x e:l ?y ; e:p ?u . ?y e:l ?z ; e:p ?v . ?z e:p ?w FILTER"
    for variable, value in zip("uvw", (1, 2, 3), strict=True):
        assert answer(f"ASK {{ {tree}(?{variable} = {value}) }}", text) is not None
        assert answer(f"ASK {{ {tree}(?{variable} != {value}) }}", text) is None
        assert answer(f"ASK {{ {tree}(?{variable} > 3) }}", text) is None
    assert answer(f"ASK {{ {tree}(?u = 1 && ?w = 3) }}", text) is not None
    assert answer(f"ASK {{ {tree}(?u = 1 && ?w = 2) }}", text) is None


def test_subjects_that_nothing_else_names_are_apart() -> None:
    text = "e:a e:l e:c . e:b e:m e:c . e:c e:p 1"
    assert answer("SELECT ?z { ?x e:l ?z . ?y e:m ?z . ?z e:p ?v }", text) == '[{"z":"<http://e/c>"}]'


def test_links_that_are_no_tree_are_joined() -> None:
    text = "e:a e:l e:b ; e:m e:c . e:b e:l e:a ; e:p 1 . e:c e:p 1 . e:d e:l e:d"
    assert answer("SELECT ?x { ?x e:l ?y ; e:m ?y . ?y e:p 1 }", text) is None
    assert answer("SELECT ?x { ?x e:l ?y . ?y e:l ?x . ?y e:p 1 }", text) == '[{"x":"<http://e/a>"}]'
    assert answer("SELECT ?x { ?x e:l ?x . ?x e:l ?y }", text) == '[{"x":"<http://e/d>"}]'
    assert answer("SELECT ?p { ?x ?p ?y . ?y e:p 1 . ?x ?p ?z . ?z e:l e:b }", text) is None


def test_long_chains_are_joined_by_subject_and_object() -> None:
    """20,000 triples of one predicate: a nested loop would spend the budget."""
    chain = " ".join(f"e:n{i:05} e:p e:n{i + 1:05} ." for i in range(3000))
    found = answer("SELECT ?x { e:n00000 e:p ?a . ?a e:p ?b . ?b e:p ?x . ?y e:p ?b }", chain)
    assert found == '[{"x":"<http://e/n00003>"}]'


@pytest.mark.parametrize("subjects", [1, 63, 64, 65, 130])
def test_stars_on_few_and_on_many_subjects(subjects: int) -> None:
    """Up to 64 subjects a star is decided by bits; the subject that has all its triples is the last in the text."""
    turtle = " ".join(f"e:s{n:03} e:p 1 ; e:r {n} ." for n in range(subjects - 1))
    whole = f"{turtle} e:t e:p 1 ; e:q 2 ; e:r 3 ."
    halves = f"{turtle} e:t e:p 1 . e:u e:q 2 ."
    star = "SELECT ?x { ?x e:p 1 . ?x e:q 2 }"
    wider = "SELECT ?x { ?x e:p 1 . ?x e:q ?y . ?x e:r ?z FILTER(?z >= 3) }"
    for query in (star, wider):
        assert answer(query, whole) == '[{"x":"<http://e/t>"}]'
        assert answer(query, halves) is None


def test_subjects_apart_in_the_text_are_one() -> None:
    """Journals hold sorted lines; the join does not depend on it."""
    sorted_lines = publication("e:a e:p 1 ; e:q 2 . e:b e:p 3")
    lines = sorted_lines.quads.splitlines(keepends=True)
    apart = sorted_lines._replace(quads=lines[0] + lines[2] + lines[1])
    assert match_all(registrations("SELECT ?x { ?x e:p 1 . ?x e:q 2 }"), [apart])


def test_an_empty_publication_matches_what_needs_nothing() -> None:
    queries = registrations("SELECT (COUNT(*) AS ?n) { ?x ?y ?z }", "SELECT * { ?x ?y ?z }", "ASK { }")
    assert sorted(match_all(queries, [publication("")])) == [(0, 1), (0, 3)]


def test_nothing_to_match() -> None:
    batch = matcher().match(snapshot_of([]), [publication("e:a e:p 1")])
    assert len(batch) == 0
    assert len(matcher().match(snapshot_of([build_segment(registrations("ASK { ?x e:p 1 }"))]), [])) == 0


def test_counts_of_work() -> None:
    queries = registrations(*(f"SELECT ?x {{ ?x e:p {i} . ?x e:q ?y }}" for i in range(10)), "ASK { ?x e:p 3 } LIMIT 1")
    snapshot = snapshot_of([build_segment(queries)])
    stats = matcher().match(snapshot, [publication("e:a e:p 3", AFTER_ALL), publication("e:a e:p 4 ; e:q 1")]).stats
    assert (stats.publications, stats.touched, stats.joins, stats.matches) == (2, 3, 2, 2)
    assert (stats.candidates, stats.verified, stats.undecided) == (1, 1, 0)


def test_a_join_tries_first_what_is_known_best() -> None:
    """Of seven patterns without a constant the one that hardly anything fulfils comes before the products."""
    turtle = " ".join(f"e:a e:p{place} e:v{value} ." for place in range(3) for value in range(8))
    query = "ASK { ?y ?x ?z . ?y ?q ?u . ?y ?v ?w . ?y ?v ?a . ?y ?x ?b . ?z ?r ?y }"
    assert answer(query, turtle) is None
    assert answer(query, turtle + " e:v1 e:back e:a .") == "[{}]"
