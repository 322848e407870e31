"""The one graph with what a taxonomy entails (semantics 6.1), kept as a store of its own, event by event.

Every rule keeps the subject of one premise and takes the others from the *schema*: the taxonomy, and what documents
state of classes and properties. What is reached or derived of a subject so follows from its own triples and the schema
above their terms: its *star*. Stars are the documents of this store, and an event writes those anew that it may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from triplecast.evaluate.background import Background
from triplecast.kernels.triples import ANY
from triplecast.model.entailment import Entailment
from triplecast.repository.changes import Change, Changes
from triplecast.repository.store import Store, TripleSource, id_of
from triplecast.taxonomy import EntailmentTooLarge, Schema, Taxonomy, Words, entail
from triplecast.taxonomy.classes import reach
from triplecast.taxonomy.taxonomy import (
    BROADER,
    MEMBER,
    SUB_CLASS,
    SUB_PROPERTY,
    TYPE,
    TermText,
    TextTriple,
    is_numbered,
)

_WORDS = Words[TermText](TYPE, SUB_CLASS, SUB_PROPERTY, MEMBER, BROADER)
_TERMS_KEPT = 100_000
"""Terms whose schema triples are kept at hand."""


class EntailedSource(NamedTuple):
    """A state of the entailed graph, with what it was entailed from."""

    entailed: TripleSource
    stated: TripleSource
    background: Background


class EntailedStore:
    """What one entailment regime makes of a store of documents, whose changes it is told in order."""

    def __init__(self, stated: Store, entailment: Entailment, taxonomy: Taxonomy) -> None:
        self.store = Store.empty()
        self.too_large: set[TermText] = set()
        """Subjects of which more follows than `TRIPLES_LIMIT`: their stars are those of before."""
        self._stated = stated
        self._entailment = entailment
        self._orders: frozenset[TermText] = frozenset()
        """The predicates of schema triples in documents; none where nothing is derived."""
        self._take(taxonomy)
        self._before = self._background
        terms = _TextsById(stated)
        self._write({terms[id] for id in {*stated.find(ANY, ANY, ANY)[:, 0].tolist()}} | self._reached, 0)
        self.store.merge()

    @property
    def before(self) -> EntailedSource:
        """The state before the last change."""
        return EntailedSource(self.store.before(), self._stated.before(), self._before)

    @property
    def after(self) -> EntailedSource:
        return EntailedSource(self.store, self._stated, self._background)

    def follow(self, change: Change, position: int) -> Changes:
        """Take what an event changed in the documents, the last one; return what that changes here."""
        self._before = self._background
        terms = _TextsById(self._stated)
        rows = [terms.triple(row) for row in (*change.added.tolist(), *change.removed.tolist())]
        subjects = {subject for subject, _, _ in rows}
        schema = [row for row in rows if row[1] in self._orders]
        if schema:
            self._upward.clear()
            changed = {subject for subject, _, _ in schema}
            if any(end in self._orders for _, _, end in schema):
                changed |= self._renew_orders()
            subjects |= self._concerned(changed)
        subjects |= self._reach_from({term for row in rows for term in row})
        return self._write(subjects, position)

    def replace_taxonomy(self, taxonomy: Taxonomy, position: int) -> Changes:
        """Take another taxonomy; return what that changes."""
        self._before = self._background
        before, reached = self._taxonomy, self._reached
        orders = self._take(taxonomy)
        changed = {subject for subject, _, _ in {*before.triples} ^ {*taxonomy.triples}} | orders
        subjects = self._concerned(changed) if self._is_closed else {*changed}
        return self._write(subjects | reached | self._reached, position)

    # ---- the schema -------------------------------------------------------------------------------------------------

    @property
    def _is_closed(self) -> bool:
        return self._entailment is Entailment.RDFS

    def _take(self, taxonomy: Taxonomy) -> set[TermText]:
        """Read a taxonomy; return whose triples are now of the schema, or no more."""
        self._taxonomy = taxonomy
        self._background = Background.of(self._entailment, taxonomy)
        self._below: dict[TermText, dict[TermText, None]] = {}
        """The terms whose taxonomy triples mention a term."""
        for subject, predicate, end in taxonomy.triples:
            for term in (predicate, end):
                self._below.setdefault(term, {})[subject] = None
        self._upward = _Upward(taxonomy, self._stated)
        self._schema: Schema[TermText] = Schema(
            _WORDS, self._upward, taxonomy.classes, taxonomy.broader, lambda term: term[0] == "<", is_numbered
        )
        self._present = {term for term in taxonomy.upward if self._is_stated(term)}
        """The terms of the documents of which the taxonomy says something."""
        self._reached = {*reach_all(self._present, taxonomy)}
        """All terms that these reach in the taxonomy."""
        return self._renew_orders()

    def _renew_orders(self) -> set[TermText]:
        """Find the predicates of schema triples again: those under the two of RDFS. Return the subjects of triples with
        others than before."""
        if not self._is_closed:
            return set()
        found, added = {SUB_CLASS, SUB_PROPERTY}, True
        while added:
            under = {
                subject
                for predicate in found
                for end in found
                for subject in self._subjects(self._stated.find(ANY, self._id(predicate), self._id(end)).tolist())
            }
            under |= {subject for subject, predicate, end in self._taxonomy.triples if {predicate, end} <= found}
            added = not under <= found
            found |= under
        differing = found ^ self._orders
        self._orders = self._upward.orders = frozenset(found)
        self._upward.clear()
        return {
            subject
            for predicate in differing
            for subject in self._subjects(self._stated.find(ANY, self._id(predicate), ANY).tolist())
        }

    def _concerned(self, changed: Iterable[TermText]) -> set[TermText]:
        """The subjects whose triples reach one of some terms in the schema, and these terms."""
        terms = {*changed}
        waiting = [*terms]
        while waiting:
            for below in self._directly_below(waiting.pop()):
                if below not in terms:
                    terms.add(below)
                    waiting.append(below)
        found = {*terms}
        for term in terms:
            id = self._id(term)
            for pattern in ((ANY, id, ANY), (ANY, ANY, id)):
                found |= self._subjects(self._stated.find(*pattern).tolist())
        return found

    def _directly_below(self, term: TermText) -> Iterator[TermText]:
        yield from self._below.get(term, ())
        id = self._id(term)
        for predicate in self._orders:
            yield from self._subjects(self._stated.find(ANY, self._id(predicate), id).tolist())
        if term in self._orders:
            yield from self._subjects(self._stated.find(ANY, id, ANY).tolist())

    # ---- what is reached --------------------------------------------------------------------------------------------

    def _is_stated(self, term: TermText) -> bool:
        return is_stated(self._stated, self._id(term))

    def _reach_from(self, terms: set[TermText]) -> set[TermText]:
        """Note which terms came and went; return those that the taxonomy is reached or left by."""
        taxonomy = self._taxonomy
        known = {term for term in terms if term in taxonomy.upward}
        now = {term for term in known if self._is_stated(term)}
        came, went = now - self._present, (known - now) & self._present
        self._present = (self._present | came) - went
        left = {*reach_all(went, taxonomy)} if went else set()
        kept = {term for term in left if term in self._present or self._is_held(term, left)}
        left.difference_update(reach_all(kept, taxonomy))
        found = {*reach_all(came, taxonomy)} if came else set()
        found -= self._reached - left
        self._reached = (self._reached - left) | found
        return left ^ found

    def _is_held(self, term: TermText, left: set[TermText]) -> bool:
        """Whether a term that is reached anyway leads to it."""
        return any(below in self._reached and below not in left for below in self._below.get(term, ()))

    # ---- stars ------------------------------------------------------------------------------------------------------

    def _write(self, subjects: set[TermText], position: int) -> Changes:
        stars = self._stars(subjects)
        if self._is_closed and MEMBER in self._taxonomy.upward:
            more = self._reach_from({MEMBER}) | ({MEMBER} if MEMBER in self._reached else set())
            stars.update(self._stars(more))
            if MEMBER not in self._present and self._derives_member(stars):
                self._present.add(MEMBER)
                more = {*reach_all([MEMBER], self._taxonomy)}
                self._reached |= more
                stars.update(self._stars(more))
        return self.store.replace(stars, position)

    def _derives_member(self, stars: Mapping[TermText, bytes]) -> bool:
        """Whether a triple with ``rdfs:member`` follows, where some stars are to be written."""
        mark = f" {MEMBER} ".encode()
        if any(mark in star for star in stars.values()):
            return True
        terms = _TextsById(self.store)
        rows = self.store.find(ANY, id_of(self.store, MEMBER), ANY).tolist()
        return any(terms[subject] not in stars for subject, _, _ in rows)

    def _stars(self, subjects: Iterable[TermText]) -> dict[TermText, bytes]:
        terms = _TextsById(self._stated)
        found = {}
        for subject in sorted(subjects):
            try:
                found[subject] = self._star(subject, terms)
                self.too_large.discard(subject)
            except EntailmentTooLarge:
                self.too_large.add(subject)
        return found

    def _star(self, subject: TermText, terms: _TextsById) -> bytes:
        """What the entailed graph says of a subject. Raises `EntailmentTooLarge`."""
        id = self._id(subject)
        triples = [terms.triple(row) for row in self._stated.find(id, ANY, ANY).tolist()]
        if subject in self._reached:
            triples += self._taxonomy.upward.get(subject, ())
        if self._is_closed and triples:
            triples = entail(triples, self._schema, rdfs=True)
        lines = sorted({f"{start} {by} {end} .\n" for start, by, end in triples if start == subject})
        return "".join(lines).encode()

    def _id(self, term: TermText) -> int:
        return id_of(self._stated, term)

    def _subjects(self, rows: Iterable[Sequence[int]]) -> set[TermText]:
        terms = _TextsById(self._stated)
        return {terms[row[0]] for row in rows}


def is_stated(source: TripleSource, id: int) -> bool:
    """Whether a term is in a triple."""
    patterns = ((id, ANY, ANY), (ANY, ANY, id), (ANY, id, ANY))
    return any(source.count(*pattern) for pattern in patterns)


def reach_all(terms: Iterable[TermText], taxonomy: Taxonomy) -> Iterator[TermText]:
    """Terms and all that they reach by triples of a taxonomy, in any place."""
    met: set[TermText] = set()
    for start in terms:
        if start not in met:
            found = reach(start, lambda here: _mentioned(here, taxonomy, met))
            met.update(found)
            yield from found


def _mentioned(term: TermText, taxonomy: Taxonomy, met: set[TermText]) -> Iterator[TermText]:
    for _, predicate, end in taxonomy.upward.get(term, ()):
        yield from (each for each in (predicate, end) if each not in met)


class _TextsById(dict[int, TermText]):
    """The terms of a store, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __missing__(self, id: int) -> TermText:
        found = self[id] = self._store.bank.term(id).decode()
        return found

    def triple(self, row: Sequence[int]) -> TextTriple:
        subject, predicate, end = row
        return self[subject], self[predicate], self[end]


class _Upward(dict[TermText, Sequence[TextTriple]]):
    """The schema triples of each term: of the taxonomy, and stated in documents; read when first asked for, and
    cleared where documents state others."""

    def __init__(self, taxonomy: Taxonomy, stated: Store) -> None:
        self._taxonomy = taxonomy
        self._stated = stated
        self.orders: frozenset[TermText] = frozenset()

    def get(self, term: TermText, default: object = ()) -> Sequence[TextTriple]:
        found = super().get(term)
        if found is None:
            if len(self) >= _TERMS_KEPT:
                self.clear()
            found = self[term] = self._read(term)
        return found

    def _read(self, term: TermText) -> Sequence[TextTriple]:
        found = dict.fromkeys(self._taxonomy.upward.get(term, ()))
        id, terms = id_of(self._stated, term), _TextsById(self._stated)
        for predicate in self.orders:
            rows = self._stated.find(id, id_of(self._stated, predicate), ANY).tolist()
            found.update(dict.fromkeys(map(terms.triple, rows)))
        return tuple(found)
