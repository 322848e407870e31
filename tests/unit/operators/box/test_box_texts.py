"""Similarity of texts: the cosine by hand, its laws, and what cannot be compared."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.operators import PublicationView, Unanswerable, declared_operators
from triplecast.operators.box.likeness import compare_texts, rarity, shipped_vocabulary
from triplecast.operators.box.texts import LONGEST, SHIPPED, read_text, similarity
from triplecast.operators.box.vocabulary import Vocabulary, count_vocabulary

EVENT = PublicationView(NamedNode("urn:g"), 1, {"urn:text": "Ünïted boats".encode(), "urn:pic": b"\x89PNG"}, b"")
CORPUS = ("the boat in the harbour", "the train to the harbour", "a boat and the ferry", "the museum opens")
WORDS = ("the", "a", "boat", "ferry", "harbour", "train", "museum", "opens", "night", "and", "to", "zeppelin")


def by_hand(one: str, other: str) -> float:
    """With matrices, plain words and nothing of the product."""
    words = sorted(set(re.findall("[a-z]+", " ".join((*CORPUS, one, other)))))
    documents = np.array([[len(re.findall(rf"\b{word}\b", text)) for word in words] for text in CORPUS])
    rare = 1 + np.log((1 + len(CORPUS)) / (1 + (documents > 0).sum(axis=0)))
    counts = np.array([[len(re.findall(rf"\b{word}\b", text)) for word in words] for text in (one, other)])
    weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * rare
    lengths = np.linalg.norm(weights, axis=1)
    return float(weights[0] @ weights[1] / lengths.prod())


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_cosine_by_hand(seed: int) -> None:
    chance = random.Random(seed)
    one, other = (" ".join(chance.choices(WORDS, k=chance.randint(1, 15))) for _ in range(2))
    vocabulary = count_vocabulary("v", CORPUS)
    found = compare_texts(one, other, vocabulary)
    assert found == pytest.approx(by_hand(one, other), abs=1e-9), (seed, one, other)
    assert found == compare_texts(other, one, vocabulary)
    assert 0.0 <= found <= 1.0


@pytest.mark.parametrize("seed", range(20))
def test_equal_texts_are_one(seed: int) -> None:
    chance = random.Random(seed)
    words = chance.choices(sorted(shipped_vocabulary(SHIPPED).frequencies), k=chance.randint(1, 200))
    text = " ".join(words)
    chance.shuffle(words)
    assert compare_texts(text, text, shipped_vocabulary(SHIPPED)) == 1.0
    assert compare_texts(text, "\n".join(words).upper(), shipped_vocabulary(SHIPPED)) == 1.0, "nor order nor case count"


def test_texts_without_words() -> None:
    vocabulary = shipped_vocabulary(SHIPPED)
    assert compare_texts("", "… !", vocabulary) == 1.0
    assert compare_texts("", "boat", vocabulary) == compare_texts("boat", "", vocabulary) == 0.0
    assert compare_texts("boat", "train", vocabulary) == 0.0


def test_a_rare_word_says_more_than_a_common_one() -> None:
    vocabulary = count_vocabulary("v", CORPUS)
    assert rarity("the", vocabulary) == 1.0
    assert rarity("boat", vocabulary) < rarity("museum", vocabulary) < rarity("zeppelin", vocabulary)
    assert compare_texts("the museum", "a museum", vocabulary) > compare_texts("the museum", "the boat", vocabulary)


def test_the_operator_answers_of_the_shipped_vocabulary() -> None:
    one, other = Literal("Night train to Porto", language="en"), Literal("the night trains and the train to Porto")
    pairs = ((one, other), (other, one), (one, one), (NamedNode("urn:text"), Literal("united BOATS")))
    ours, swapped, equal, attached = similarity([EVENT] * 4, *map(list, zip(*pairs, strict=True)))
    assert ours == swapped == compare_texts(one.value, other.value, shipped_vocabulary(SHIPPED))
    assert 0.5 < ours < 1.0
    assert equal == attached == 1.0
    declared = declared_operators().find("urn:triplecast:op:similarity")
    assert declared is not None
    assert declared.version == f"1/{shipped_vocabulary(SHIPPED).name}" == f"1/{SHIPPED}"


def test_the_shipped_vocabulary_knows_what_every_text_has() -> None:
    vocabulary: Vocabulary = shipped_vocabulary(SHIPPED)
    common = sorted(vocabulary.frequencies, key=lambda word: -vocabulary.frequencies[word])[:12]
    assert {"the", "a", "of", "is", "and", "in"} <= set(common)
    assert all(1 < count <= vocabulary.documents for count in vocabulary.frequencies.values())


@pytest.mark.parametrize(
    ("term", "told"),
    [
        (BlankNode("b"), "a text is a literal or the IRI of an attachment, and _:b is neither"),
        (
            NamedNode("urn:none"),
            "no attachment <urn:none>; the publication has <urn:pic>, <urn:text>; publish the text",
        ),
        (NamedNode("urn:pic"), r"the attachment <urn:pic> is no text in UTF-8 \(byte 0\); publish it in UTF-8"),
        (Literal("a" * (LONGEST + 1)), "a text has 1,000,001 characters, 1,000,000 at most; compare parts of it"),
    ],
)
def test_what_cannot_be_compared_is_told(term: object, told: str) -> None:
    with pytest.raises(Unanswerable, match=told):
        read_text(EVENT, term)
    good, refused = similarity([EVENT, EVENT], [Literal("boat"), Literal("boat")], [Literal("Boat"), term])
    assert good == 1.0
    assert isinstance(refused, Unanswerable)
