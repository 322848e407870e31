"""The tries as section 3.1 describes them, the steps they count, and texts."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from experiments.measuring import deep_size
from experiments.rtf.corrections import CORRECTED, SPARED, Form
from experiments.rtf.filtering import measure_index
from experiments.rtf.forest import TrieForest, Variant
from experiments.rtf.fulltext import has_chain, split_disjunctions, to_conjuncts
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.publications import read_publication
from experiments.rtf.queries import (
    ANY,
    And,
    Chain,
    ContinuousQuery,
    Not,
    Or,
    QueryTuple,
    Variable,
    phrase,
    write_sparql,
)
from experiments.rtf.steps import CHECKS, NODES, POSTINGS, QUERIES, TESTS, TRIES
from experiments.rtf.trie import FULL_TEXT, VARIABLE, Node, grow_structure, grow_words, reach_structure, reach_words
from tests.experiments.rtf import naive
from tests.experiments.rtf.generate import make_expression

P = Variable("publication")
LINES = b'<urn:a> <urn:body> "the olympic games in rio" .\n<urn:a> <urn:type> <urn:article> .\n'


def spell(node: Node) -> dict[str, object]:
    return {content: spell(child) for content, child in node.children.items()}


def test_tuples_share_the_nodes_of_what_they_have_in_common() -> None:
    """As in figure 2: queries share a structure, and the word "olympic" below it."""
    forest = Node()
    structure = grow_structure(forest, (P, "<urn:body>", Variable("b")))
    assert structure is grow_structure(forest, (P, "<urn:body>", Variable("c")))
    assert structure is not grow_structure(forest, (P, "<urn:body>", ANY))
    text = structure.child(FULL_TEXT)
    grow_words(text, ("olympic", "games", "rio"))
    grow_words(text, ("winter", "olympic"))
    assert spell(text) == {"olympic": {"games": {"rio": {}}, "winter": {}}}
    assert list(forest.children) == [VARIABLE]


def test_a_child_that_holds_a_later_word_is_followed() -> None:
    top = Node()
    first = grow_words(top, ("a", "b"))
    assert grow_words(top, ("b", "a")) is first
    assert grow_words(top, ("c", "a", "b")) is first.children["c"]


@pytest.mark.parametrize("hashed", [False, True])
def test_words_are_reached_through_those_that_the_text_has(hashed: bool) -> None:
    top = Node()
    nodes = [grow_words(top, words) for words in (("a",), ("a", "b"), ("c",), ("a", "d", "e"))]
    reached = list(reach_words(top, {"a": (0,), "b": (1,), "e": (2,)}, hashed, hashed, Counter()))
    assert reached == [top, nodes[0], nodes[1]]


def test_a_list_of_children_is_examined_whole_and_a_hash_table_is_not() -> None:
    forest = Node()
    for number in range(50):
        grow_structure(forest, (P, f"<urn:p{number}>", ANY))
    for hashed, expected in ((False, 3 + 50 + 1), (True, 3 + 3 + 1)):
        steps: Counter[str] = Counter()
        assert len(reach_structure(forest, ("<urn:a>", "<urn:p7>", "<urn:b>"), True, hashed, steps)) == 1
        assert steps == {NODES: expected}


def queries() -> list[ContinuousQuery]:
    body = QueryTuple(P, "<urn:body>", Variable("b"), And((Chain(("rio",)), phrase("olympic", "games"))))
    kind = QueryTuple(P, "<urn:type>", "<urn:article>")
    return [ContinuousQuery(0, (kind, body)), ContinuousQuery(1, (kind,)), ContinuousQuery(2, (body, kind))]


@pytest.mark.parametrize(("form", "looked_at", "tested"), [(CORRECTED, 4, 6), (SPARED, 3, 5)])
@pytest.mark.parametrize("variant", Variant)
def test_counted_steps_are_those_of_the_procedure(variant: Variant, form: Form, looked_at: int, tested: int) -> None:
    """Two triples look for three roots each and examine the two predicates below the variable and an object below one
    of them; the text's three words are a path of three nodes."""
    forest = TrieForest(variant, form)
    for query in queries():
        forest.insert(query)
    forest.insert(ContinuousQuery(3, (QueryTuple("<urn:other>", ANY, ANY),)))
    assert forest.filter(read_publication(LINES)) == [0, 1, 2]
    assert forest.steps == {
        NODES: 2 * (3 + 2 + 1) + 3,
        POSTINGS: 5,
        QUERIES: looked_at,
        TESTS: tested,
        TRIES: 4,
        CHECKS: 2,
    }


def test_ibroker_walks_the_next_bucket_for_the_entry_of_a_query() -> None:
    """The second tuple of query 0 stands first in the list of bodies, that of query 2 first in the list of types."""
    for form, walked in ((CORRECTED, 5 + 1 + 3), (SPARED, 5 + 2)):
        index = InvertedIndex(form)
        for query in queries():
            index.insert(query)
        assert index.filter(read_publication(LINES)) == [0, 1, 2]
        assert index.steps == {POSTINGS: walked, TRIES: 2, CHECKS: 2}


@pytest.mark.parametrize("variant", Variant)
def test_the_size_of_an_index_is_not_that_of_what_it_was_asked(variant: Variant) -> None:
    forest = TrieForest(variant)
    for query in queries():
        forest.insert(query)
    forest.filter(read_publication(LINES))
    forest.steps.clear()
    forest.forget()
    before = deep_size(forest)
    forest.filter(read_publication(LINES))
    marked = deep_size(forest)
    assert marked - before > 1_000
    assert measure_index(forest) == before / 1e6


def test_disjunctions_of_several_tuples_multiply() -> None:
    either = Or((Chain(("a",)), And((Chain(("b",)), Not(Chain(("c",)))))))
    query = ContinuousQuery(0, tuple(QueryTuple(P, "<urn:p>", Variable(name), either) for name in "xy"))
    assert len(split_disjunctions(query)) == 4


def test_conjuncts_mean_what_the_expression_means(seed: int) -> None:
    source = random.Random(seed)
    held = 0
    for number in range(400):
        expression = make_expression(source, depth=3)
        words = [source.choice(("olympic", "games", "rio", "of", "city")) for _ in range(source.randint(1, 8))]
        text = {word: tuple(at for at, other in enumerate(words) if other == word) for word in words}
        found = any(
            all(word in text for word in conjunct.words)
            and all(has_chain(chain, text) for chain in conjunct.needed)
            and not any(has_chain(chain, text) for chain in conjunct.never)
            for conjunct in to_conjuncts(expression)
        )
        assert found == naive.holds(expression, text), (number, expression, words)
        held += found
    assert 50 < held < 350


def test_a_chain_tries_every_place_of_its_words() -> None:
    """The first "games" is too far from "rio", the second is not, and only after the first "rio"."""
    text = {"games": (0, 7), "rio": (4, 9)}
    assert has_chain(Chain(("games", "rio"), ((0, 2),)), text)
    assert not has_chain(Chain(("rio", "games"), ((0, 1),)), text)
    assert has_chain(Chain(("rio", "games"), ((0, 2),)), text)


def test_a_query_is_written_as_the_engine_reads_it() -> None:
    either = Or((phrase("olympic", "games"), Not(Chain(("rio", "city"), ((0, 2),)))))
    query = ContinuousQuery(0, (QueryTuple(P, ANY, Variable("b"), either), QueryTuple(ANY, "<urn:p>", ANY)))
    assert write_sparql(query) == (
        "SELECT * { ?publication ?any0 ?b . ?any1 <urn:p> ?any2 "
        r'FILTER(ft:contains(?b, "(\"olympic games\" ftor ftnot (\"rio\" ftnear[0,2] \"city\"))")) }'
    )


def test_what_makes_no_query_is_refused() -> None:
    with pytest.raises(ValueError, match="object's variable"):
        QueryTuple(P, "<urn:p>", ANY, Chain(("a",)))
    with pytest.raises(ValueError, match="one gap fewer"):
        Chain(("a", "b"))
