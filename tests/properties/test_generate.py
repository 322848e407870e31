"""The generator itself: its rounds replay, its texts are valid, its trees survive shrinking."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pyoxigraph

from tests.properties.constructs import parts
from tests.properties.differential import PUBLICATIONS, SUBSCRIPTIONS
from tests.properties.generate import Asked, Published, dataset_of, is_kin_call, make_round
from tests.properties.literals import CLUSTERS
from tests.properties.oxigraph import to_oxigraph
from tests.properties.render import PREFIXES
from tests.properties.shrink import shrink
from tests.properties.taxonomies import ENTAILMENTS, FUNCTIONS
from tests.reference import queries as q
from tests.reference.solve import NotDetermined, answer
from tests.reference.terms import iri, read_ntriples, term, write


def test_a_round_replays(seed: int) -> None:
    assert make_round(seed, 3, 5, 9) == make_round(seed, 3, 5, 9)
    assert make_round(seed, 3, 5, 9) != make_round(seed, 4, 5, 9)


OURS = {
    pyoxigraph.NamedNode(f"{PREFIXES[prefix]}{name}"): lambda *arguments: None
    for prefix, name in (part.split(":") for part in (*FUNCTIONS, "ft:contains", "ft:score"))
}
"""Without them pyoxigraph refuses what calls a function of ours."""


def test_texts_are_sparql(seed: int) -> None:
    empty = pyoxigraph.Store()
    for number in range(12):
        for asked in make_round(seed, number, PUBLICATIONS, SUBSCRIPTIONS).subscriptions:
            styled = empty.query(asked.text, custom_functions=OURS)
            plain = empty.query(Asked(asked.query, None).text, custom_functions=OURS)
            assert type(styled) is type(plain), (seed, asked.text)


def test_entailment_decides_pairs(seed: int) -> None:
    """Pairs of subscriptions with entailment whose answer is another one without it, and with the other kind."""
    differ: Counter[str] = Counter()
    for number in range(2, 21, 3):
        made = make_round(seed, number, 5, SUBSCRIPTIONS)
        for published, asked in product(made.publications, made.subscriptions):
            if asked.stated and asked.entailment:
                answers = {kind: _answer(published, asked, kind) for kind in (None, *ENTAILMENTS)}
                differ[asked.entailment] += answers[asked.entailment] != answers[None]
                differ["kinds"] += answers["taxonomy"] != answers["rdfs"]
    assert min(differ[kind] for kind in (*ENTAILMENTS, "kinds")) > 10, differ


def _answer(published: Published, asked: Asked, entailment: str | None) -> object:
    if entailment is None and any(is_kin_call(part) for part in parts(asked.query)):
        return None
    try:
        return answer(asked.query, dataset_of(published, entailment))
    except NotDetermined:
        return None


def test_terms_are_written_canonically() -> None:
    for cluster in CLUSTERS:
        for member in cluster:
            assert write(member.term) == str(to_oxigraph(member.term))
            assert term(write(member.term)) == member.term


def test_publications_are_written_canonically(seed: int) -> None:
    for published in make_round(seed, 1, 20, 1).publications:
        text = published.quads
        assert set(read_ntriples(text.decode())) == set(published.triples)
        quads = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)
        assert sorted(f"{quad.triple} .\n".encode() for quad in quads) == text.splitlines(keepends=True)


def test_shrinking_keeps_what_fails() -> None:
    wanted = iri("http://example.org/wanted")
    noise = [q.Step(q.Var(f"v{n}"), iri(f"http://example.org/p{n}"), q.Var("x")) for n in range(4)]
    pattern = q.Filter(q.Call("ISIRI", (q.Var("x"),)), q.Basic((*noise, q.Step(q.Var("x"), wanted, q.Var("y")))))
    triples = tuple((iri(f"http://example.org/s{n}"), wanted, iri("http://example.org/o")) for n in range(9))

    def fails(published: Published, asked: Asked) -> bool:
        return triples[4] in published.triples and "wanted" in asked.text

    published, asked = shrink(
        Published(iri("http://example.org/g"), triples), Asked(q.Query("select", q.Select(pattern)), 5), fails
    )
    assert published.triples == (triples[4],)
    assert asked.query.select.pattern == q.Basic((q.Step(q.Var("x"), wanted, q.Var("y")),))
