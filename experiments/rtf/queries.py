"""Continuous queries as conjunctions of tuples (definition 1, line 70), and the same queries as SPARQL.

A term is its N-Triples text. A tuple has a constant, a `Variable` or the wildcard `ANY` at each place (line 40) and,
where its object is a variable, perhaps a full-text expression over that variable's literal (line 31).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from pyoxigraph import Literal

from triplecast.text.dialects import quote

ANY = "*"
"""The wildcard: any value, not bound to anything."""


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


Element: TypeAlias = str | Variable
Places: TypeAlias = tuple[Element, Element, Element]
"""Subject, predicate and object of a tuple."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Words that follow one another in a text (ftNEAR, lines 31 and 38): `gaps[i]` is how many words may lie between
    word i and the next, at least and at most (None: no bound). One word is a chain; a phrase is one whose gaps are all
    (0, 0).
    """

    words: tuple[str, ...]
    """Folded."""
    gaps: tuple[tuple[int, int | None], ...] = ()

    def __post_init__(self) -> None:
        if not self.words or len(self.gaps) != len(self.words) - 1:
            raise ValueError(f"a chain has one gap fewer than words, and a word: {self.words}, {self.gaps}")


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Expression


Expression: TypeAlias = Chain | And | Or | Not


@dataclass(frozen=True, slots=True)
class QueryTuple:
    subject: Element
    predicate: Element
    object: Element
    text: Expression | None = None

    def __post_init__(self) -> None:
        if self.text is not None and not isinstance(self.object, Variable):
            raise ValueError(f"the text of a tuple is asked of its object's variable, and {self.object} is none")

    @property
    def places(self) -> Places:
        return self.subject, self.predicate, self.object


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    subscription: int
    """Who is notified."""
    tuples: tuple[QueryTuple, ...]


def phrase(*words: str) -> Chain:
    return Chain(words, ((0, 0),) * (len(words) - 1))


def write_sparql(query: ContinuousQuery) -> str:
    """The query as the engine is asked it; each wildcard becomes a variable of its own."""
    fresh = (f"?any{number}" for number in count())
    patterns = [" ".join(_write_places(each, fresh)) for each in query.tuples]
    conditions = [_write_condition(each) for each in query.tuples if each.text is not None]
    return f"SELECT * {{ {' . '.join(patterns)} {' '.join(conditions)} }}"


def _write_places(asked: QueryTuple, fresh: Iterator[str]) -> Iterable[str]:
    for place in asked.places:
        if isinstance(place, Variable):
            yield f"?{place.name}"
        else:
            yield next(fresh) if place == ANY else place


def _write_condition(asked: QueryTuple) -> str:
    assert isinstance(asked.object, Variable)
    assert asked.text is not None
    return f"FILTER(ft:contains(?{asked.object.name}, {Literal(write_selection(asked.text))}))"


def write_selection(expression: Expression) -> str:
    match expression:
        case Chain(words, gaps):
            if all(gap == (0, 0) for gap in gaps):
                return quote(" ".join(words))
            rest = zip(gaps, words[1:], strict=True)
            return quote(words[0]) + "".join(
                f" ftnear[{least},{'' if most is None else most}] {quote(word)}" for (least, most), word in rest
            )
        case And(parts):
            return f"({' ftand '.join(map(write_selection, parts))})"
        case Or(parts):
            return f"({' ftor '.join(map(write_selection, parts))})"
        case Not(part):
            return f"ftnot ({write_selection(part)})"
