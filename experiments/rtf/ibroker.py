"""iBroker extended with text and wildcards, the paper's baseline (section 3.3).

An inverted index from attributes to lists of entries. The entries of a query form a chain: each refers to the bucket of
the next one's attribute (lines 153 to 155).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from experiments.rtf.corrections import CORRECTED, Form
from experiments.rtf.fulltext import Conjunct, fulfils, split_disjunctions
from experiments.rtf.joining import Bound, bind
from experiments.rtf.publications import Publication, Statement
from experiments.rtf.queries import ANY, ContinuousQuery, Element, Places, Variable
from experiments.rtf.steps import CHECKS, POSTINGS, TRIES


class Entry(NamedTuple):
    """One tuple of one query in its bucket's list (line 153, i to iv)."""

    subscription: int
    following: Following | None
    """NextToMatch; None ends the chain."""
    begins: bool
    value: str | None
    """The object's constant; None: any."""
    words: Conjunct | None
    """The words that took the value's place (line 157)."""
    places: Places
    """The subject and the variables."""


class Following(NamedTuple):
    bucket: Bucket
    entry: int
    """The number of the query's next entry."""


class Bucket:
    """The list of one attribute."""

    __slots__ = ("attribute", "entries", "numbers")

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.entries: list[Entry] = []
        self.numbers: list[int] = []
        """[place in the list] the entry's number, ascending."""

    def add(self, number: int, entry: Entry) -> None:
        """`number` is above all numbers of the list."""
        self.entries.append(entry)
        self.numbers.append(number)

    def find(self, number: int, hashed: bool, steps: Counter[str]) -> Entry:
        """NextToMatch leads to a bucket, so the query's entry is looked for from the front of its list; under k1 it
        counts as one step."""
        place = bisect_left(self.numbers, number) if hashed else self.numbers.index(number)
        steps[POSTINGS] += 1 if hashed else place + 1
        return self.entries[place]


class InvertedIndex:
    """iBroker. Not for two threads: counted work is its own."""

    def __init__(self, form: Form = CORRECTED) -> None:
        self.form = form
        self.steps: Counter[str] = Counter()
        self._buckets: dict[str, Bucket] = {}
        self._entries = 0

    def insert(self, query: ContinuousQuery) -> None:
        for tuples in split_disjunctions(query):
            first = self._entries
            self._entries += len(tuples)
            buckets = [self._bucket_of(each.places[1]) for each in tuples]
            links = [Following(bucket, first + place) for place, bucket in enumerate(buckets)]
            for place, (places, words) in enumerate(tuples):
                value = None if isinstance(places[2], Variable) or places[2] == ANY else places[2]
                following = links[place + 1] if place + 1 < len(links) else None
                entry = Entry(query.subscription, following, not place, value, words, places)
                buckets[place].add(first + place, entry)

    def _bucket_of(self, predicate: Element) -> Bucket:
        """By the attribute, which is the predicate; tuples without one have a bucket of their own."""
        attribute = ANY if isinstance(predicate, Variable) else predicate
        bucket = self._buckets.get(attribute)
        if bucket is None:
            bucket = self._buckets[attribute] = Bucket(attribute)
        return bucket

    def filter(self, publication: Publication) -> list[int]:
        """The subscriptions to notify, ascending; without c4 as often as one was found."""
        found: list[int] = []
        for statement in publication.statements:
            for attribute in (statement.predicate, ANY):
                bucket = self._buckets.get(attribute)
                if bucket is not None:
                    self.steps[POSTINGS] += len(bucket.entries)
                    found += self._begin(bucket.entries, statement, publication)
        return sorted(set(found)) if self.form.c4_notified_once else sorted(found)

    def _begin(self, entries: Sequence[Entry], statement: Statement, publication: Publication) -> list[int]:
        """Examines a whole list for beginnings of queries and follows those that fit (line 155)."""
        return [
            entry.subscription
            for entry in entries
            if entry.begins
            and (bound := self._fit(entry, statement, {})) is not None
            and self._follow(entry, bound, publication)
        ]

    def _follow(self, entry: Entry, bound: Bound, publication: Publication) -> bool:
        """Whether the rest of the chain fits, by whichever triples have its attributes."""
        if entry.following is None:
            return True
        bucket = entry.following.bucket
        following = bucket.find(entry.following.entry, self.form.k1_hashed, self.steps)
        every = bucket.attribute == ANY
        for statement in publication.statements if every else publication.by_predicate.get(bucket.attribute, ()):
            self.steps[TRIES] += 1
            grown = self._fit(following, statement, bound)
            if grown is not None and self._follow(following, grown, publication):
                return True
        return False

    def _fit(self, entry: Entry, statement: Statement, bound: Bound) -> Bound | None:
        """What is bound after the entry took the triple; None where it does not fit. The attribute is the bucket's."""
        subject = entry.places[0]
        if entry.value is not None and entry.value != statement.object:
            return None
        if not isinstance(subject, Variable) and subject not in (statement.subject, ANY):
            return None
        if entry.words is not None and not self._has_text(entry.words, statement):
            return None
        return bind(entry.places, statement, bound) if self.form.c2_joined else bound

    def _has_text(self, words: Conjunct, statement: Statement) -> bool:
        text = statement.text
        if text is None:
            return False
        self.steps[CHECKS] += 1
        if self.form.c7_positions_kept:
            return fulfils(words, text, self.form.c5_negated)
        return all(word in text for word in words.words)
