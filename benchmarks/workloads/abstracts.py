"""The workload of the RTF paper's section 4: DBpedia abstracts against subscriptions with text.

Its data: 5,000 abstracts, each a publication of a type and a text, and the DBpedia ontology. A subscription has one to
four patterns on one subject; half of their properties are the two that occur (a type with a class of the ontology, or
the abstract), half are any of the ontology's. `share` (FT_pr) of the subscriptions have text: each of their patterns
with a literal asks for one to three words at once, and at least one of their patterns has a literal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from benchmarks.workloads.texts import Workload
from triplecast.text import words_of
from triplecast.text.dialects import quote
from triplecast.text.words import fold

FOLDER = Path("..") / "shared" / "data" / "rdf" / "dbpedia"
"""Beside the project; no part of it."""
ABSTRACT = "http://dbpedia.org/ontology/abstract"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_OWL = "http://www.w3.org/2002/07/owl#"
_MOST_PATTERNS, _MOST_WORDS = 4, 3


@dataclass(frozen=True, slots=True)
class Corpus:
    """What publications and interests are made of."""

    publications: Sequence[bytes]
    """Canonical N-Triples: a type and an abstract each."""
    tokens: Sequence[str]
    """All words of the abstracts, folded, in order."""
    classes: Sequence[str]
    properties: Sequence[str]
    """But the abstract."""


class Part(NamedTuple):
    """One pattern of an interest, about the subject that all of them share."""

    predicate: str
    kind: str | None
    """The class that is asked for; None: any value."""
    words: tuple[str, ...]
    """The value's text has all of them; none: nothing is asked of it."""


Interest: TypeAlias = tuple[Part, ...]


def make_abstracts(
    folder: Path, subscriptions: int, publications: int, share: float, from_tokens: bool, seed: int = 1
) -> Workload:
    """`from_tokens`: words are drawn as often as they occur, else each word of the vocabulary alike."""
    corpus = read_corpus(folder)
    queries = list(map(write_interest, draw_interests(corpus, subscriptions, share, from_tokens, seed)))
    name = f"abstracts, {share:.0%} with text, words of the {'tokens' if from_tokens else 'vocabulary'}"
    return Workload(name, queries, corpus.publications[:publications])


def read_corpus(folder: Path) -> Corpus:
    lines = (folder / "abstracts.nt").read_bytes().splitlines(keepends=True)
    texts = ["".join(sorted(line.decode() for line in lines[at : at + 2])).encode() for at in range(0, len(lines), 2)]
    return Corpus(texts, _tokens(folder / "abstracts.nt"), *_ontology(folder / "ontology" / "ontology.ttl"))


def draw_interests(
    corpus: Corpus, subscriptions: int, share: float, from_tokens: bool, seed: int = 1
) -> list[Interest]:
    words = corpus.tokens if from_tokens else sorted(set(corpus.tokens))
    source = random.Random(seed)
    return [_draw(source, source.random() < share, words, corpus) for _ in range(subscriptions)]


def _draw(source: random.Random, with_text: bool, words: Sequence[str], corpus: Corpus) -> Interest:
    parts = []
    kinds = [source.random() for _ in range(source.randint(1, _MOST_PATTERNS))]
    if with_text and max(kinds) < 0.25:
        kinds[-1] = 0.25
    for chosen in kinds:
        if chosen < 0.25:
            parts.append(Part(TYPE, source.choice(corpus.classes), ()))
            continue
        predicate = ABSTRACT if chosen < 0.5 else source.choice(corpus.properties)
        asked = [source.choice(words) for _ in range(source.randint(1, _MOST_WORDS))] if with_text else []
        parts.append(Part(predicate, None, tuple(asked)))
    return tuple(parts)


def write_interest(interest: Interest) -> str:
    patterns, conditions = [], []
    for number, part in enumerate(interest):
        patterns.append(f"?s <{part.predicate}> {f'?v{number}' if part.kind is None else f'<{part.kind}>'}")
        if part.words:
            selection = " ftand ".join(map(quote, part.words))
            conditions.append(f"FILTER(ft:contains(?v{number}, {Literal(selection)}))")
    return f"SELECT ?s {{ {' . '.join(patterns)} {' '.join(conditions)} }}"


def _tokens(path: Path) -> list[str]:
    """All words of the abstracts, folded, in order."""
    return [
        fold(word)
        for triple in parse(path.read_bytes(), format=RdfFormat.N_TRIPLES)
        if isinstance(triple.object, Literal)
        for word in words_of(triple.object.value)
    ]


def _ontology(path: Path) -> tuple[list[str], list[str]]:
    """Classes and properties of DBpedia's namespace."""
    kinds: dict[str, set[str]] = {"Class": set(), "DatatypeProperty": set(), "ObjectProperty": set()}
    for triple in parse(path.read_bytes(), format=RdfFormat.TURTLE):
        named = isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode)
        if named and triple.predicate.value == TYPE and triple.subject.value.startswith("http://dbpedia.org/ontology/"):
            kinds.get(triple.object.value.removeprefix(_OWL), set()).add(triple.subject.value)
    return sorted(kinds["Class"]), sorted((kinds["DatatypeProperty"] | kinds["ObjectProperty"]) - {ABSTRACT})
