"""RDFC-1.0 against pyoxigraph's independent implementation, its work bound, and labels beyond it."""

from __future__ import annotations

import os
import random

import pytest
from pyoxigraph import (
    BlankNode,
    CanonicalizationAlgorithm,
    Dataset,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    serialize,
)

from triplecast.ingest import Document
from triplecast.ingest.canonical import OutOfSteps, canonical_names, names_by_appearance, rename
from triplecast.ingest.parse import parse_document

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def random_quads(rng: random.Random) -> list[Quad]:
    nodes = rng.randint(1, 7)
    named = rng.random() < 0.3

    def node(blank: float) -> NamedNode | BlankNode:
        if rng.random() < blank:
            return BlankNode(f"n{rng.randrange(nodes)}")
        return NamedNode(f"http://e/{rng.randrange(2)}")

    quads = []
    for _ in range(rng.randint(1, 12)):
        value = node(0.7) if rng.random() < 0.8 else Literal('a "_:x .\n', language="en")
        graph = node(0.5) if named and rng.random() < 0.6 else DefaultGraph()
        quads.append(Quad(node(0.8), NamedNode(f"http://p/{rng.randrange(2)}"), value, graph))
    return list(dict.fromkeys(quads))


def lines_of(quads: object) -> list[bytes]:
    return serialize(quads, format=RdfFormat.N_QUADS).splitlines(True)


@pytest.mark.parametrize("seed", range(SEED, SEED + 400))
def test_names_are_those_of_another_implementation(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/ingest/test_canonical.py"""
    quads = random_quads(random.Random(seed))
    lines = lines_of(quads)
    dataset = Dataset(quads)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    assert sorted(rename(lines, canonical_names(lines, 20_000))) == sorted(lines_of(dataset)), f"seed {seed}"


def clique(size: int) -> list[bytes]:
    return [b"_:n%d <http://p> _:n%d .\n" % (i, j) for i in range(size) for j in range(size) if i != j]


def test_the_work_bound_is_a_count_of_steps() -> None:
    lines = clique(4)
    steps = next(n for n in range(10_000) if not gives_up(lines, n))
    assert gives_up(lines, steps - 1)
    assert not gives_up(lines[::-1], steps)
    assert gives_up(clique(9), 20_000)


def gives_up(lines: list[bytes], steps: int) -> bool:
    try:
        canonical_names(lines, steps)
    except OutOfSteps:
        return True
    return False


def test_a_long_chain_of_equals_gives_up_instead_of_overflowing() -> None:
    assert gives_up([b"_:n%d <http://p> _:n%d .\n" % (i, i + 1) for i in range(5000)], 10**9)


def test_invented_names_are_numbered_and_given_ones_kept() -> None:
    lines = [
        b"_:b0 <http://p> _:deadbeefdeadbeefdeadbeefdeadbeef .\n",
        b"_:abcdefabcdefabcdefabcdefabcdefab <http://p> _:alice .\n",
    ]
    names = names_by_appearance(lines)
    assert rename(lines, names) == [b"_:b0 <http://p> _:b1 .\n", b"_:b2 <http://p> _:alice .\n"]


@pytest.mark.parametrize("labelled", [True, False])
def test_beyond_the_bound_labels_are_the_same_at_each_parse(labelled: bool) -> None:
    """Nothing is rejected for its blank nodes; the digest is then that of the bytes."""
    nested = b"<a:s> <a:p> " + b"[ <a:p> " * 300 + b"1" + b"]" * 300 + b" ."
    data = b"".join(clique(9)) if labelled else nested
    first, second = (parse_document(Document("d.ttl", data)).drafts[0] for _ in range(2))
    assert first == second
    assert first.labels == "input"
    other = parse_document(Document("d.ttl", data + b"\n")).drafts[0]
    assert other.digest != first.digest
    assert (b"_:n0 " in first.quads) == labelled


def test_isomorphic_documents_have_one_content() -> None:
    one = parse_document(Document("d.ttl", b"_:x <a:p> _:y . _:y <a:q> 'v' . <a:s> <a:p> 1 .")).drafts[0]
    two = parse_document(Document("d.ttl", b"<a:s> <a:p> 1 . [] <a:p> [ <a:q> 'v' ] .")).drafts[0]
    other = parse_document(Document("d.ttl", b"<a:s> <a:p> 1 . _:y <a:p> _:y . _:y <a:q> 'v' .")).drafts[0]
    assert one == two
    assert one.labels == "canonical"
    assert other.digest != one.digest
