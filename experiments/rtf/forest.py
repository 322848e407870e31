"""RTFm and RTFs: the query table, the trie forest, the proximity table and the filtering procedure (sections 3.1, 3.2).

The filtering procedure is common to both (line 126). Figure 4, its pseudocode, is not in the text; lines 138 to 147 are
followed. Where the text leaves something open, `README.md` says how it was read.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import NamedTuple

from experiments.rtf.corrections import CORRECTED, Form
from experiments.rtf.fulltext import Conjunct, ConjunctTuple, fulfils, split_disjunctions
from experiments.rtf.joining import agree, needs_join
from experiments.rtf.publications import Publication, Statement
from experiments.rtf.queries import ContinuousQuery, Places
from experiments.rtf.steps import CHECKS, POSTINGS, QUERIES, TESTS
from experiments.rtf.trie import FULL_TEXT, Node, grow_structure, grow_words, reach_structure, reach_words


class Variant(Enum):
    MANY = "RTFm"
    """Words hang below each structure (line 122, i)."""
    SINGLE = "RTFs"
    """One forest for the words of all structures (line 122, ii)."""


class TabledQuery(NamedTuple):
    """One query of the query table (line 82): of a subscription, without disjunction."""

    subscription: int
    tids: tuple[int, ...]
    tuples: tuple[Places, ...]
    """Kept for c2."""
    joins: bool
    """Whether its tuples have to agree on variables."""


class TrieForest:
    """The index of one variant. Not for two threads: marks and counted work are its own."""

    def __init__(self, variant: Variant, form: Form = CORRECTED) -> None:
        self.variant = variant
        self.form = form
        self.steps: Counter[str] = Counter()
        self._table: list[TabledQuery] = []
        self._query_of: list[int] = []
        """[tuple identifier] its query's place in the table."""
        self._structures = Node()
        """Holds the roots."""
        self._words = Node()
        """RTFs: holds the roots of the text forest."""
        self._structure_of: dict[int, Node] = {}
        """RTFs: the FT node of a tuple whose words are in the text forest."""
        self._proximity: dict[int, Conjunct] = {}
        """The proximity table (line 100): what the words of a tuple do not say."""
        self._marks: dict[int, list[Statement]] = {}
        """The tuples that are marked as matched, with the triples that did it."""

    def insert(self, query: ContinuousQuery) -> None:
        """The three steps of section 3.1, for each query without disjunction (line 100)."""
        for tuples in split_disjunctions(query):
            first = len(self._query_of)
            tids = tuple(range(first, first + len(tuples)))
            places = tuple(each.places for each in tuples)
            self._query_of += [len(self._table)] * len(tids)
            self._table.append(TabledQuery(query.subscription, tids, places, needs_join(places)))
            for tid, each in zip(tids, tuples, strict=True):
                self._index(tid, each)

    def _index(self, tid: int, asked: ConjunctTuple) -> None:
        node = grow_structure(self._structures, asked.places)
        text = asked.text
        if text is not None:
            node = node.child(FULL_TEXT)
            if text.positions is not None:
                self._proximity[tid] = text.positions
            if self.variant is Variant.SINGLE and text.words:
                self._structure_of[tid] = node
                node = self._words
            node = grow_words(node, text.words)
        node.tids.append(tid)

    def forget(self) -> None:
        """Takes back the marks of the last publication: what is left is the index."""
        self._marks = {}

    def filter(self, publication: Publication) -> list[int]:
        """The subscriptions to notify, ascending; without c4 as often as their queries matched."""
        if self.form.c3_cleared:
            self.forget()
        structures: set[Node] = set()
        for statement in publication.statements:
            if self.form.c6_one_statement:
                structures = set()
            self._mark(statement, structures)
        matched = self._scan()
        return sorted(set(matched)) if self.form.c4_notified_once else sorted(matched)

    def _mark(self, statement: Statement, structures: set[Node]) -> None:
        """Marks every tuple that a triple fulfils by itself (lines 138 to 147). `structures`: RTFs' FT nodes that are
        reached."""
        form, steps = self.form, self.steps
        doubtful: list[int] = []
        for node in reach_structure(self._structures, statement.places, form.c1_variable_roots, form.k1_hashed, steps):
            steps[POSTINGS] += len(node.tids)
            self._note(node.tids, statement)
            words = node.children.get(FULL_TEXT)
            if words is None or statement.text is None:
                continue
            structures.add(words)
            for reached in reach_words(words, statement.text, form.k1_hashed, form.k1_hashed, steps):
                doubtful += reached.tids
        steps[POSTINGS] += len(doubtful)
        if self.variant is Variant.SINGLE and structures and statement.text is not None:
            doubtful += self._reach_text_forest(statement, structures)
        self._note([tid for tid in doubtful if self._has_positions(tid, statement)], statement)

    def _reach_text_forest(self, statement: Statement, structures: set[Node]) -> list[int]:
        """The tuples whose words the text has and whose structure is reached; the roots are hashed (line 115)."""
        assert statement.text is not None
        structure_of, found = self._structure_of, []
        for node in reach_words(self._words, statement.text, True, self.form.k1_hashed, self.steps):
            found += [tid for tid in node.tids if structure_of[tid] in structures]
            self.steps[POSTINGS] += len(node.tids)
        return found

    def _has_positions(self, tid: int, statement: Statement) -> bool:
        """What is "checked for satisfaction after the trie traversal" (line 147): distances, and c5."""
        positions = self._proximity.get(tid)
        if positions is None:
            return True
        self.steps[CHECKS] += 1
        assert statement.text is not None
        return fulfils(positions, statement.text, self.form.c5_negated)

    def _note(self, tids: list[int], statement: Statement) -> None:
        marks = self._marks
        for tid in tids:
            if tid in marks:
                marks[tid].append(statement)
            else:
                marks[tid] = [statement]

    def _scan(self) -> list[int]:
        """The subscriptions of the queries of which all tuples are marked (line 147) and, c2, agree."""
        marks, matched, looked_at, tested = self._marks, [], self._queries_to_look_at(), 0
        for query in looked_at:
            for tid in query.tids:
                tested += 1
                if tid not in marks:
                    break
            else:
                if self._agrees(query):
                    matched.append(query.subscription)
        self.steps[QUERIES] += len(looked_at)
        self.steps[TESTS] += tested
        return matched

    def _queries_to_look_at(self) -> list[TabledQuery]:
        if not self.form.k2_touched_only:
            return self._table
        query_of, table = self._query_of, self._table
        return [table[number] for number in sorted({query_of[tid] for tid in self._marks})]

    def _agrees(self, query: TabledQuery) -> bool:
        marks = self._marks
        if not (query.joins and self.form.c2_joined):
            return True
        return agree(query.tuples, [marks[tid] for tid in query.tids], self.steps)
