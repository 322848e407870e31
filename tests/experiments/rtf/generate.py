"""Random publications and queries of the RTF paper's kind: few words and terms, so that much of it meets. Texts are
written as people write: capitals, accents composed or not, punctuation between words and within."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence

from pyoxigraph import Literal

from experiments.rtf.queries import (
    ANY,
    And,
    Chain,
    ContinuousQuery,
    Element,
    Expression,
    Not,
    Or,
    QueryTuple,
    Variable,
    phrase,
)

WORDS = ("olympic", "games", "rio", "athens", "city", "of", "the", "can't", "3.5")
_SPELLINGS = {"rio": ("Río", "RÍO"), "city": ("cíty", "Çity"), "the": ("thé",), "olympic": ("Ólympic",)}
_BETWEEN = (*(" ",) * 12, ", ", ". ", " – ", "; ", " (", ' "', "\n", "-", " … ", ".")
"""The last joins two words to one that nobody asks for."""
_SUBJECTS = tuple(f"<urn:s{number}>" for number in range(3))
_PREDICATES = tuple(f"<urn:p{number}>" for number in range(3))
_CLASSES = tuple(f"<urn:c{number}>" for number in range(3))
_NUMBER = '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
_LITERALS = (_NUMBER, '"Rio"', '"Rio"@en')
_VARIABLES = tuple(map(Variable, "abc"))


def make_publication(source: random.Random) -> bytes:
    """Canonical N-Triples of three to nine triples about two subjects."""
    subjects = source.sample(_SUBJECTS, 2)
    return "".join(
        sorted(
            {
                f"{source.choice(subjects)} {source.choice(_PREDICATES)} {_make_object(source)} .\n"
                for _ in range(source.randint(3, 9))
            }
        )
    ).encode()


def _make_object(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.25:
        return source.choice(_CLASSES)
    if kind < 0.4:
        return source.choice(_SUBJECTS)
    if kind < 0.48:
        return source.choice(_LITERALS)
    return str(Literal(make_text(source), language=source.choice((None, None, "en"))))


def make_text(source: random.Random) -> str:
    words = (_spell(source, source.choice(WORDS)) for _ in range(source.randint(2, 14)))
    return "".join(word + source.choice(_BETWEEN) for word in words)


def _spell(source: random.Random, word: str) -> str:
    spelled = source.choice((word, word, word, word.capitalize(), word.upper(), *_SPELLINGS.get(word, ())))
    return unicodedata.normalize(source.choice(("NFC", "NFC", "NFD")), spelled)


def make_query(source: random.Random, subscription: int) -> ContinuousQuery:
    """One to three tuples; variables are few, so that they are shared."""
    tuples = tuple(_make_tuple(source) for _ in range(source.choice((1, 1, 1, 2, 2, 3))))
    return ContinuousQuery(subscription, tuples)


def _make_tuple(source: random.Random) -> QueryTuple:
    subject: Element = source.choice((*_VARIABLES, *_VARIABLES, ANY, ANY, source.choice(_SUBJECTS)))
    predicate: Element = source.choice((*_PREDICATES, ANY, Variable("p")))
    last: Element = source.choice(
        (*_VARIABLES, *map(Variable, "uvwxyz"), ANY, *_LITERALS[:2], source.choice(_CLASSES), source.choice(_SUBJECTS))
    )
    with_text = isinstance(last, Variable) and source.random() < 0.7
    return QueryTuple(subject, predicate, last, make_expression(source) if with_text else None)


def make_expression(source: random.Random, depth: int = 2) -> Expression:
    kind = source.random()
    if depth and kind < 0.45:
        parts = tuple(make_expression(source, depth - 1) for _ in range(2))
        return And(parts) if kind < 0.15 else Or(parts)
    if depth and kind < 0.55:
        return Not(make_expression(source, depth - 1))
    return _make_chain(source)


def _make_chain(source: random.Random) -> Chain:
    kind = source.random()
    if kind < 0.5:
        return Chain((source.choice(WORDS),))
    words = tuple(source.choice(WORDS) for _ in range(source.choice((2, 2, 3))))
    if kind < 0.7:
        return phrase(*words)
    return Chain(words, tuple(_make_gap(source) for _ in words[1:]))


def _make_gap(source: random.Random) -> tuple[int, int | None]:
    least = source.choice((0, 0, 1, 2))
    return least, source.choice((None, least, least + 2, least + 5))


def make_workload(seed: int, publications: int, queries: int) -> tuple[Sequence[bytes], Sequence[ContinuousQuery]]:
    """Distinct publications, and queries numbered from 0."""
    source = random.Random(seed)
    made: dict[bytes, None] = {}
    while len(made) < publications:
        made[make_publication(source)] = None
    return list(made), [make_query(source, number) for number in range(queries)]
