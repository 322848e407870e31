"""`mixed`: interests with ranges, classes and words, and the same interests with equality alone.

Records and interests are like those of `realtail`, but records have a title of 6 to 10 words (5,000 words, Zipf 1.0),
and no number lies near a multiple of 1,000. An interest in a number asks for a tenth of its span, in bounds of its own:
a window, or one bound where the tenth is the first or the last. Of all interests 36 % have a range, 25 % a class, 24 %
one or two words of the title, 22 % more than one of these; 38 % have none.

*equality alone*: a record states the tenth in the place of the number, each word of its title, and all of its classes.
*mixed*: it states the number, the title and its most specific class; interests compare the number, search the title,
and leave the class to a taxonomy, entailed in the three ways of `benchmarks.workloads.taxonomy`. Both give the same
matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.workloads.catalogue import (
    INTERESTS,
    LINKS,
    MOST_PATTERNS,
    NUMBERS,
    TAIL,
    Catalogue,
    open_catalogue,
    write_records,
    zipf,
)
from benchmarks.workloads.taxonomy import ask_known, keep_lowest, know_classes
from benchmarks.workloads.texts import NAMESPACE, Variant, Workload, decimal, iri, to_lines, to_query
from triplecast.model.subscription import Subscription
from triplecast.taxonomy import Taxonomy

VOCABULARY = 5_000
TENTHS = 10
SPAN = 1_000.0
"""Of a tenth."""
GAP = 100.0
"""Numbers keep this far from multiples of `SPAN`, so that bounds may lie anywhere between."""

_OWN_TYPE = iri("type")
_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_NUMBER = re.compile(rf'<{NAMESPACE}number\d> "([^"]*)"')
_RECORD = re.compile(rf"<{NAMESPACE}record-(\d+)> ")


def make_mixed(subscriptions: int, publications: int) -> tuple[Variant, Variant]:
    """(equality alone, mixed)."""
    interests = list(_draw_interests(open_catalogue(8, TAIL), subscriptions))
    catalogue = open_catalogue(7, 1.0)
    parents = catalogue.parents.tolist()
    records = list(_draw_records(catalogue, publications))
    plain = [Subscription(f"s{number}", interest.in_equalities()) for number, interest in enumerate(interests, 1)]
    mixed = [ask_known(number, interest.mixed()) for number, interest in enumerate(interests, 1)]
    stated = Workload("equality alone", [given.text for given in plain], [each.in_equalities() for each in records])
    asked = [keep_lowest(each.mixed(), parents) for each in records]
    return (
        Variant(stated, plain, Taxonomy(())),
        Variant(Workload("mixed", [given.text for given in mixed], asked), mixed, know_classes(parents)),
    )


@dataclass(frozen=True, slots=True)
class _Record:
    triples: Sequence[tuple[str, str, str]]
    """With classes up to the root and with numbers, but without its title."""
    subject: str
    title: Sequence[int]

    def in_equalities(self) -> bytes:
        words = [(self.subject, iri("word"), iri(f"word{word}")) for word in self.title]
        return to_lines([*map(_state_tenth, self.triples), *words])

    def mixed(self) -> bytes:
        title = " ".join(f"word{word}" for word in self.title)
        return to_lines([*self.triples, (self.subject, iri("title"), f'"{title}"')])


def _state_tenth(triple: tuple[str, str, str]) -> tuple[str, str, str]:
    found = _NUMBER.match(f"{triple[1]} {triple[2]}")
    return triple if found is None else (*triple[:2], iri(f"tenth{int(float(found[1]) / SPAN)}"))


def _draw_records(catalogue: Catalogue, count: int) -> Iterator[_Record]:
    words = zipf(VOCABULARY, 1.0)
    for number, lines in enumerate(write_records(catalogue, count)):
        triples = [_keep_apart(line) for line in lines.decode().splitlines()]
        size = int(catalogue.source.integers(6, 11))
        title = np.searchsorted(words, catalogue.source.random(size)).tolist()
        yield _Record(triples, iri(f"record-{number}"), title)


def _keep_apart(line: str) -> tuple[str, str, str]:
    """A triple of a record, its number moved off the bounds of tenths, its class stated as RDF does."""
    subject, predicate, value = line[:-2].split(" ", 2)
    found = _NUMBER.match(f"{predicate} {value}")
    if found is not None:
        tenth, rest = divmod(float(found[1]), SPAN)
        value = decimal(tenth * SPAN + GAP + rest * (1 - 2 * GAP / SPAN))
    return subject, _RDF_TYPE if predicate == _OWN_TYPE else predicate, value


@dataclass(frozen=True, slots=True)
class _Interest:
    patterns: Sequence[tuple[str, str, str]]
    """What is told alike."""
    number: tuple[int, int] | None
    """Which, and its tenth."""
    bounds: tuple[float, float]
    """How far the bounds lie from those of the tenth."""
    words: Sequence[int]

    def in_equalities(self) -> str:
        asked = list(self.patterns)
        if self.number is not None:
            asked.append(("?x", f"b:number{self.number[0]}", f"b:tenth{self.number[1]}"))
        asked += [("?x", "b:word", f"b:word{word}") for word in self.words]
        return _select_x(to_query(asked, {}))

    def mixed(self) -> str:
        asked, conditions = list(self.patterns), {}
        if self.number is not None:
            asked.append(("?x", f"b:number{self.number[0]}", "?v"))
            conditions["?v"] = self._compare(self.number[1])
        if not self.words:
            return _select_x(to_query(asked, conditions))
        asked.append(("?x", "b:title", "?t"))
        searched = " ftand ".join(f"'word{word}'" for word in self.words)
        return f'{_select_x(to_query(asked, conditions))[:-1]} FILTER(ft:contains(?t, "{searched}")) }}'

    def _compare(self, tenth: int) -> list[str]:
        low = f">= {tenth * SPAN + self.bounds[0]:.1f}"
        high = f"< {(tenth + 1) * SPAN + self.bounds[1]:.1f}"
        return [high] if tenth == 0 else [low] if tenth == TENTHS - 1 else [low, high]


def _select_x(text: str) -> str:
    return text.replace("SELECT *", "SELECT ?x")


def _draw_interests(catalogue: Catalogue, count: int) -> Iterator[_Interest]:
    source = catalogue.source
    lengths = source.choice(MOST_PATTERNS, count, p=INTERESTS.patterns) + 1
    properties, terms = catalogue.draw_categories((count, MOST_PATTERNS))
    ranged = (lengths >= 2) & (source.random(count) < 0.45)
    classed = (lengths >= 3) & (source.random(count) < 0.5)
    worded = (lengths >= 2 + ranged + classed) & (source.random(count) < 0.4)
    linked = (lengths == MOST_PATTERNS) & ~worded & (source.random(count) < 0.6)
    numbers = np.stack([source.integers(NUMBERS, size=count), source.integers(TENTHS, size=count)], axis=1)
    bounds = source.uniform(-GAP / 2, GAP / 2, (count, 2))
    links, classes = source.integers(LINKS, size=count), catalogue.draw_classes(count)
    words = np.searchsorted(zipf(VOCABULARY, TAIL), source.random((count, 2)))
    several = source.integers(1, 3, size=count)
    for i in range(count):
        plain = int(lengths[i] - ranged[i] - classed[i] - worded[i])
        patterns = [
            ("?x", f"b:category{kind}", f"b:term{kind}-{term}")
            for kind, term in zip(properties[i, :plain].tolist(), terms[i, :plain].tolist(), strict=True)
        ]
        if linked[i]:
            patterns[-1] = ("?y", *patterns[-1][1:])
            patterns.append(("?x", f"b:link{links[i]}", "?y"))
        if classed[i]:
            patterns.append(("?x", "a", f"b:class{classes[i]}"))
        number = (int(numbers[i, 0]), int(numbers[i, 1])) if ranged[i] else None
        asked = words[i, : several[i]].tolist() if worded[i] else []
        yield _Interest(patterns, number, (float(bounds[i, 0]), float(bounds[i, 1])), asked)
