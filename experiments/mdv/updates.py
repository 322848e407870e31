"""Updates and deletions (section 3.5): the filter is executed three times.

First with the modified resources as they were: what they had a part in are *candidates*. Then, with the new metadata in
the database, with the candidates: what is found again are *wrong candidates*. Last with the modified resources as they
are now, which is all that a registration takes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.mdv.corrections import CORRECTED, Corrections
from experiments.mdv.filter import run_filter
from experiments.mdv.rules import Event, Rule, Schema
from experiments.mdv.tables import Tables

Pairs = frozenset[tuple[str, str]]
"""Names of rules with resources."""


class Change(NamedTuple):
    """What subscribers are told of an event, or of a batch as a whole."""

    added: Pairs
    removed: Pairs


class Filter:
    """Rules over the current documents. For one thread, which closes it."""

    def __init__(self, schema: Schema, corrections: Corrections = CORRECTED) -> None:
        self.corrections = corrections
        self.tables = Tables(schema, corrections.c4_known_results)

    def close(self) -> None:
        self.tables.close()

    def subscribe(self, rules: Iterable[Rule]) -> Change:
        """Enter rules; what the documents hold for them is told as added."""
        with self.tables.transaction():
            self.tables.enter(rules)
            self._clear("Fresh")
            self._run("SELECT DISTINCT uri_reference FROM Statements")
            return Change(self._told("Fresh"), frozenset())

    def apply(self, batch: Sequence[Event]) -> list[Change]:
        """What each event changes; as printed, what the batch changes (c5)."""
        batches = [[event] for event in batch] if self.corrections.c5_events else [batch]
        return [self.apply_together(each) for each in batches]

    def apply_together(self, batch: Sequence[Event]) -> Change:
        """In a batch the last version of a document counts."""
        with self.tables.transaction():
            gone, come = self._compare({event.document: event for event in batch}.values())
            self._find_candidates()
            self._write(gone, come)
            self._find_again()
            self._run("SELECT uri_reference FROM Modified")
            return Change(self._find_added(), self._find_removed())

    # ---- before and after -------------------------------------------------------------------------------------------

    def _compare(self, events: Iterable[Event]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Statements that go and those that come; "a resource is updated if at least one property is changed, added,
        or removed"."""
        gone: list[tuple[str, ...]] = []
        come: list[tuple[str, ...]] = []
        for document, atoms in events:
            known = set(
                self._database.execute(
                    "SELECT uri_reference, property, value FROM Statements WHERE document = ?", (document,)
                )
            )
            gone += ((document, *atom) for atom in known - atoms)
            come += ((document, *atom) for atom in atoms - known)
        self._clear("Modified")
        modified = sorted({resource for _, resource, _, _ in (*gone, *come)})
        self._database.executemany("INSERT INTO Modified VALUES (?)", ((each,) for each in modified))
        return gone, come

    def _find_candidates(self) -> None:
        """The first execution."""
        self._clear("Candidates")
        if self._run("SELECT uri_reference FROM Modified"):
            self._copy_found("Candidates")
            if self.corrections.c2_stale_results_leave:
                self.tables.run(
                    "taken away",
                    "DELETE FROM Materialized WHERE (uri_reference, rule_id) IN "
                    "(SELECT uri_reference, rule_id FROM Candidates)",
                )
        self._clear("Fresh")

    def _write(self, gone: Sequence[tuple[str, ...]], come: Sequence[tuple[str, ...]]) -> None:
        self._database.executemany(
            "DELETE FROM Statements WHERE document = ? AND uri_reference = ? AND property = ? AND value = ?", gone
        )
        self._database.executemany("INSERT INTO Statements VALUES (?, ?, ?, ?)", come)

    def _find_again(self) -> None:
        """The second execution."""
        self._clear("Again")
        of_ends = "" if self.corrections.c3_inner_candidates else "WHERE rule_id IN (SELECT rule_id FROM EndRules)"
        if self._run(f"SELECT DISTINCT uri_reference FROM Candidates {of_ends}"):
            self._copy_found("Again")

    def _run(self, resources: str) -> bool:
        """Whether there was something to filter."""
        if not self.tables.fill_filter_data(resources):
            self._clear("Found")
            return False
        run_filter(self.tables, self.corrections.c6_pairs_of_rules)
        return True

    # ---- what is told -----------------------------------------------------------------------------------------------

    def _find_added(self) -> Pairs:
        """Of end rules: what is new among their results, and was not found in the first execution either."""
        if not self.corrections.c4_known_results:
            return self._told("Found")
        return self._told("Fresh") - self._told("Candidates")

    def _find_removed(self) -> Pairs:
        """ "True candidates"."""
        candidates, again = self._told("Candidates"), self._told("Again")
        if self.corrections.c1_pairs:
            return candidates - again - self._told("Found")
        kept = {resource for _, resource in again}
        return frozenset((rule, resource) for rule, resource in candidates if resource not in kept)

    def _told(self, table: str) -> Pairs:
        statement = f"SELECT e.rule, t.uri_reference FROM {table} t CROSS JOIN EndRules e ON e.rule_id = t.rule_id"
        return frozenset(self._database.execute(statement))

    @property
    def _database(self) -> sqlite3.Connection:
        return self.tables.database

    def _clear(self, table: str) -> None:
        self.tables.run("", f"DELETE FROM {table}")

    def _copy_found(self, table: str) -> None:
        self.tables.run("", f"INSERT INTO {table} SELECT uri_reference, rule_id FROM Found")
