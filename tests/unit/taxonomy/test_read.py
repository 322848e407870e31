"""What is taken of documents as a taxonomy, and which cycles are refused."""

from __future__ import annotations

import random
import sys

import pytest

from triplecast.errors import InputError, TaxonomyCycle
from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Publication
from triplecast.taxonomy import NO_TAXONOMY, Taxonomies, read_taxonomy, restore_taxonomy
from triplecast.taxonomy.read import find_cycle
from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, SUB_PROPERTY, TYPE


def lines(*triples: tuple[str, str, str]) -> bytes:
    names = {"sub": SUB_CLASS, "prop": SUB_PROPERTY, "a": TYPE, "broader": BROADER}

    def term(text: str) -> str:
        return names.get(text) or (text if text[0] in '"_' else f"<x:{text}>")

    return "".join(" ".join(map(term, triple)) + " .\n" for triple in triples).encode()


def test_only_the_order_and_the_types_of_iris_are_taken() -> None:
    taxonomy = read_taxonomy(
        [
            lines(("A", "sub", "B"), ("A", "sub", "_:restriction"), ("A", "label", '"a b ."'), ("A", "sub", '"text"')),
            lines(("i", "a", "A"), ("p", "prop", "q"), ("A", "sub", "B"), ("c", "broader", "d")),
            b"<x:C> " + SUB_CLASS.encode() + b" <x:B> <x:graph> .\n",
        ]
    )
    assert [" ".join(triple) for triple in taxonomy.triples] == sorted(
        f"<x:{s}> {p} <x:{o}>"
        for s, p, o in (("A", SUB_CLASS, "B"), ("C", SUB_CLASS, "B"), ("i", TYPE, "A"), ("p", SUB_PROPERTY, "q"))
    )
    assert taxonomy.classes == {"<x:A>", "<x:B>", "<x:C>"}
    assert restore_taxonomy(taxonomy.lines, False).triples == taxonomy.triples


def test_broader_is_taken_on_request() -> None:
    taxonomy = read_taxonomy([lines(("c", "broader", "d"), ("A", "sub", "B"))], broader=True)
    assert taxonomy.count(BROADER) == 1
    assert taxonomy.classes == {"<x:A>", "<x:B>", "<x:c>", "<x:d>"}


@pytest.mark.parametrize(
    ("triples", "kind", "cycle"),
    [
        ((("A", "sub", "B"), ("B", "sub", "C"), ("C", "sub", "B")), "classes", ("B", "C")),
        ((("A", "sub", "A"),), "classes", ("A",)),
        ((("A", "sub", "B"), ("p", "prop", "q"), ("q", "prop", "p")), "properties", ("p", "q")),
        ((("c", "broader", "d"), ("d", "broader", "c")), "concepts", ("c", "d")),
    ],
)
def test_a_cycle_is_refused_and_shown(
    triples: tuple[tuple[str, str, str], ...], kind: str, cycle: tuple[str, ...]
) -> None:
    with pytest.raises(TaxonomyCycle) as caught:
        read_taxonomy([lines(*triples)], broader=True)
    assert (caught.value.kind, caught.value.terms) == (kind, tuple(f"<x:{each}>" for each in cycle))
    shown = " under ".join(f"<x:{each}>" for each in (*cycle, cycle[0]))
    assert shown in str(caught.value)


def test_several_parents_are_no_cycle() -> None:
    diamond = ("A", "sub", "B"), ("A", "sub", "C"), ("B", "sub", "D"), ("C", "sub", "D"), ("D", "a", "A")
    assert len(read_taxonomy([lines(*diamond)]).triples) == len(diamond)


def test_cycles_are_found_in_random_graphs(seed: int) -> None:
    source = random.Random(seed)
    found = 0
    for _ in range(300):
        edges: dict[str, list[str]] = {}
        for _ in range(source.randrange(12)):
            edges.setdefault(str(source.randrange(7)), []).append(str(source.randrange(7)))
        cycle = find_cycle(edges)
        found += bool(cycle)
        assert all(after in edges[before] for before, after in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True))
        assert bool(cycle) == any(_comes_back(edges, start) for start in edges)
    assert 50 < found < 250


def _comes_back(edges: dict[str, list[str]], start: str) -> bool:
    met, waiting = set(), [start]
    while waiting:
        for end in edges.get(waiting.pop(), ()):
            if end == start:
                return True
            if end not in met:
                met.add(end)
                waiting.append(end)
    return False


def test_a_long_chain_is_read_without_recursion() -> None:
    chain = [(f"C{number}", "sub", f"C{number + 1}") for number in range(1_000)]
    assert read_taxonomy([lines(*chain)]).count(SUB_CLASS) == 1_000
    with pytest.raises(TaxonomyCycle) as caught:
        read_taxonomy([lines(*chain, ("C1000", "sub", "C0"))])
    assert len(caught.value.terms) == 1_001
    assert "<x:C9> under (981 more) under <x:C991>" in str(caught.value)


def test_a_taxonomy_whose_closure_would_explode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the n classes of a chain reaches those above it and the one predicate."""
    chain = [(f"C{number}", "sub", f"C{number + 1}") for number in range(100)]
    monkeypatch.setattr(sys.modules["triplecast.taxonomy.read"], "REACH_LIMIT", sum(range(3, 103)))
    assert read_taxonomy([lines(*chain)]).count(SUB_CLASS) == 100
    monkeypatch.setattr(sys.modules["triplecast.taxonomy.read"], "REACH_LIMIT", sum(range(3, 103)) - 1)
    with pytest.raises(InputError, match="the 100 terms of the taxonomy have more than"):
        read_taxonomy([lines(*chain)])


def test_a_publication_is_asked_with_the_last_version_before_it() -> None:
    first, second = lines(("A", "sub", "B")), lines(("A", "sub", "C"))
    taxonomies = Taxonomies((TaxonomyVersion(5, first, False), TaxonomyVersion(9, second, False)))
    publications = [Publication(position, "x:g", 1, "", b"") for position in (3, 4, 6, 8, 10)]
    assert taxonomies.before(5) is NO_TAXONOMY
    runs = [(start, end, taxonomy.lines) for start, end, taxonomy in taxonomies.runs(publications)]
    assert runs == [(0, 2, b""), (2, 4, first), (4, 5, second)]
