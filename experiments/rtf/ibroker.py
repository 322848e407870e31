"""iBroker extended with text and wildcards, the paper's baseline (section 3.3).

An inverted index from attributes to lists of entries. The entries of a query form a chain: each refers to the bucket of
the next one's attribute (lines 157 to 159).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from experiments.rtf.forms import CORRECTED, Form, Work
from experiments.rtf.fulltext import Conjunct, fulfils, split_disjunctions
from experiments.rtf.joining import Bound, bind
from experiments.rtf.publications import Publication, Statement
from experiments.rtf.queries import ANY, ContinuousQuery, QueryTuple, Variable


class Entry(NamedTuple):
    """One tuple of one query in its bucket's list (line 157, i to iv)."""

    subscription: int
    following: Following | None
    """NextToMatch; None ends the chain."""
    begins: bool
    value: str | None
    """The object's constant; None: any."""
    words: Conjunct | None
    """The words that took the value's place (line 161)."""
    asked: QueryTuple
    """The subject and the variables."""


class Following(NamedTuple):
    bucket: Bucket
    entry: int
    """The number of the query's next entry."""


class Bucket:
    """The list of one attribute."""

    __slots__ = ("attribute", "entries", "numbers", "places")

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self.entries: list[Entry] = []
        self.numbers: list[int] = []
        """[place in the list] the entry's number."""
        self.places: dict[int, int] = {}
        """K1: the inverse of `numbers`."""

    def add(self, number: int, entry: Entry) -> None:
        self.places[number] = len(self.entries)
        self.entries.append(entry)
        self.numbers.append(number)

    def find(self, number: int, hashed: bool, work: Work) -> Entry:
        """NextToMatch leads to a bucket, so the query's entry is looked for from the front of its list."""
        place = self.places[number] if hashed else self.numbers.index(number)
        work.postings += 1 if hashed else place + 1
        return self.entries[place]


class InvertedIndex:
    """iBroker. Not for two threads: counted work is its own."""

    def __init__(self, form: Form = CORRECTED) -> None:
        self.form = form
        self.work = Work()
        self._buckets: dict[str, Bucket] = {}
        self._entries = 0

    def insert(self, query: ContinuousQuery) -> None:
        for tuples in split_disjunctions(query):
            number = self._entries
            self._entries += len(tuples)
            following: Following | None = None
            for place in range(len(tuples) - 1, -1, -1):
                asked, words = tuples[place]
                bucket = self._bucket_of(asked)
                value = None if isinstance(asked.object, Variable) or asked.object == ANY else asked.object
                bucket.add(number + place, Entry(query.subscription, following, not place, value, words, asked))
                following = Following(bucket, number + place)

    def _bucket_of(self, asked: QueryTuple) -> Bucket:
        """By the attribute, which is the predicate; those without one have a bucket of their own."""
        attribute = ANY if isinstance(asked.predicate, Variable) else asked.predicate
        bucket = self._buckets.get(attribute)
        if bucket is None:
            bucket = self._buckets[attribute] = Bucket(attribute)
        return bucket

    def filter(self, publication: Publication) -> list[int]:
        """The subscriptions to notify, ascending; without C4 as often as one was found."""
        found: list[int] = []
        for statement in publication.statements:
            for attribute in (statement.predicate, ANY):
                bucket = self._buckets.get(attribute)
                if bucket is not None:
                    self.work.postings += len(bucket.entries)
                    found += self._begin(bucket.entries, statement, publication)
        return sorted(set(found)) if self.form.notified_once else sorted(found)

    def _begin(self, entries: Sequence[Entry], statement: Statement, publication: Publication) -> list[int]:
        """Examines a whole list for beginnings of queries and follows those that fit (line 159)."""
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
        following = bucket.find(entry.following.entry, self.form.hashed, self.work)
        every = bucket.attribute == ANY
        for statement in publication.statements if every else publication.by_predicate.get(bucket.attribute, ()):
            self.work.joins += 1
            grown = self._fit(following, statement, bound)
            if grown is not None and self._follow(following, grown, publication):
                return True
        return False

    def _fit(self, entry: Entry, statement: Statement, bound: Bound) -> Bound | None:
        """What is bound after the entry took the triple; None where it does not fit. The attribute is the bucket's."""
        asked = entry.asked
        if entry.value is not None and entry.value != statement.object:
            return None
        if not isinstance(asked.subject, Variable) and asked.subject not in (statement.subject, ANY):
            return None
        if entry.words is not None and not self._has_text(entry.words, statement):
            return None
        return bind(asked, statement, bound) if self.form.joined else bound

    def _has_text(self, words: Conjunct, statement: Statement) -> bool:
        text = statement.text
        if text is None:
            return False
        self.work.checks += 1
        if self.form.positions_kept:
            return fulfils(words, text, self.form.negated)
        return all(word in text for word in words.words)
