"""Section 4's workload: abstracts as publications, queries of classes, properties and words (lines 163 to 167).

The corpus and the interests are the engine's own benchmark's (`benchmarks.workloads.abstracts`), here as tuples of
definition 1. Where the fetched abstracts are absent, made-up ones of the same size and shape take their place.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from benchmarks.workloads.abstracts import ABSTRACT, FOLDER, TYPE, Corpus, Interest, Part, read_corpus
from experiments.rtf.queries import And, Chain, ContinuousQuery, QueryTuple, Variable

_PUBLICATIONS, _VOCABULARY, _CLASSES, _PROPERTIES = 5_000, 40_000, 750, 2_800
"""As the fetched corpus has them, roughly."""
_MEDIAN, _SPREAD, _LONGEST = 75, 0.8, 500
"""Words of an abstract, and the standard deviation of their logarithm."""
_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za")
_SUBJECT = Variable("s")


_BYTES = 630
"""Of a publication, on average: 17 KB/s are 27 publications/s, 0.18 KB/s are 0.28 (line 184)."""


@dataclass(frozen=True, slots=True)
class NamedCorpus:
    corpus: Corpus
    name: str


def find_corpus(root: Path) -> NamedCorpus:
    """The DBpedia abstracts beside the project, or made-up ones; cut to the size of the paper's publications."""
    if (root / FOLDER).is_dir():
        return NamedCorpus(cut_to_size(read_corpus(root / FOLDER)), "5,000 DBpedia abstracts")
    made = cut_to_size(make_corpus())
    return NamedCorpus(made, "5,000 made-up abstracts (those of DBpedia are not on this machine)")


def cut_to_size(corpus: Corpus) -> Corpus:
    """Abstracts that are longer lose what comes after as many words as make the publications `_BYTES` long on
    average."""
    longest = bisect_left(range(1, _LONGEST), _BYTES, key=lambda words: _mean_size(_cut(corpus, words))) + 1
    return replace(corpus, publications=_cut(corpus, longest))


def _mean_size(publications: Sequence[bytes]) -> int:
    return sum(map(len, publications)) // len(publications)


def _cut(corpus: Corpus, words: int) -> list[bytes]:
    return [_cut_literal(publication, words) for publication in corpus.publications]


def _cut_literal(publication: bytes, words: int) -> bytes:
    """Between words, so within no escape."""
    before, quote, rest = publication.partition(b'"')
    text, end, after = rest.rpartition(b'"')
    kept = text.split(b" ")[:words]
    return before + quote + b" ".join(kept) + end + after


def make_corpus(publications: int = _PUBLICATIONS, seed: int = 1) -> Corpus:
    """Words by Zipf's law with exponent 1, lengths lognormal, the class of each alike often."""
    source = random.Random(seed)
    words = [_spell(number) for number in range(_VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    classes = [f"http://dbpedia.org/ontology/Class{number:03}" for number in range(_CLASSES)]
    made, tokens = [], []
    for number in range(publications):
        length = max(5, min(_LONGEST, round(source.lognormvariate(0, _SPREAD) * _MEDIAN)))
        text = source.choices(words, cum_weights=weights, k=length)
        tokens += text
        subject = f"<urn:x-made-abstract:{number:05}>"
        kind = f"{subject} <{TYPE}> <{source.choice(classes)}> .\n"
        made.append("".join(sorted((kind, f'{subject} <{ABSTRACT}> "{" ".join(text)}"@en .\n'))).encode())
    return Corpus(made, tokens, classes, [f"http://dbpedia.org/ontology/p{number}" for number in range(_PROPERTIES)])


def _spell(number: int) -> str:
    """Another word for each number."""
    word = ""
    while True:
        number, syllable = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
        if not number:
            return word


def to_query(subscription: int, interest: Interest) -> ContinuousQuery:
    return ContinuousQuery(subscription, tuple(_to_tuple(number, part) for number, part in enumerate(interest)))


def _to_tuple(number: int, part: Part) -> QueryTuple:
    last = Variable(f"v{number}") if part.kind is None else f"<{part.kind}>"
    words = tuple(Chain((word,)) for word in part.words)
    return QueryTuple(_SUBJECT, f"<{part.predicate}>", last, And(words) if words else None)
