"""The filter's tables (sections 3.2, 3.3.4; figures 4 and 7 to 9) in SQLite, and rules entered into them.

SQLite joins in the order that is written (``CROSS JOIN``), and no statistics are gathered: with them it builds filters
over whole tables of rules for a document.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from experiments.mdv.decompose import Atomic, Group, Join, Triggering, decompose
from experiments.mdv.rules import CLASS, OPERATORS, ORDERED, SUBJECT, Rule, Schema

FILTER_RULES = dict(zip(OPERATORS, ("EQ", "NE", "LT", "LE", "GT", "GE", "CON"), strict=True))
"""By operator the end of its table's name: ``FilterRulesGT``."""
SCHEMA = """
CREATE TABLE Statements (document TEXT, uri_reference TEXT, property TEXT, value TEXT,
    PRIMARY KEY (document, uri_reference, property, value)) WITHOUT ROWID;
CREATE INDEX StatementsByResource ON Statements (uri_reference, property, value);
CREATE INDEX StatementsByValue ON Statements (value, property, uri_reference);
CREATE TABLE FilterData (uri_reference TEXT, class TEXT, property TEXT, value TEXT);
CREATE TABLE AtomicRules (rule_id INTEGER PRIMARY KEY, text TEXT, class TEXT, "group" INTEGER);
CREATE TABLE RuleGroups ("group" INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE RuleDependencies (source INTEGER, target INTEGER, param INTEGER, "group" INTEGER);
CREATE INDEX RuleDependenciesBySource ON RuleDependencies (source, param, "group", target);
CREATE INDEX RuleDependenciesByTarget ON RuleDependencies (target, param, source);
CREATE TABLE RulePairs (source_1 INTEGER, source_2 INTEGER, "group" INTEGER, target INTEGER,
    PRIMARY KEY (source_1, source_2, "group", target)) WITHOUT ROWID;
CREATE TABLE GroupSources (source INTEGER, "group" INTEGER, PRIMARY KEY (source, "group")) WITHOUT ROWID;
CREATE TABLE EndRules (rule_id INTEGER, rule TEXT, PRIMARY KEY (rule_id, rule)) WITHOUT ROWID;
CREATE TABLE Kept (rule_id INTEGER PRIMARY KEY);
CREATE TABLE FilterRules (class TEXT, rule_id INTEGER, PRIMARY KEY (class, rule_id)) WITHOUT ROWID;
CREATE TABLE Materialized (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE ResultObjects (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE NextObjects (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE Found (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE Candidates (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE Again (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE Fresh (uri_reference TEXT, rule_id INTEGER, PRIMARY KEY (uri_reference, rule_id)) WITHOUT ROWID;
CREATE TABLE Modified (uri_reference TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE Dependents (target INTEGER PRIMARY KEY, "group" INTEGER);
"""
"""``Statements`` holds the current documents; the text leaves its form to [14]. ``Kept``: rules whose results are
materialised."""
_CLASSES = f"JOIN Statements c ON c.uri_reference = r.uri_reference AND c.property = '{CLASS}'"


class Tables:
    """A database in memory."""

    def __init__(self, schema: Schema, keep_results: bool) -> None:
        """`keep_results`: those of end rules too."""
        self.database: sqlite3.Connection = sqlite3.connect(":memory:", isolation_level=None)
        self.database.executescript(SCHEMA)
        for operator, name in FILTER_RULES.items():
            # constants are strings, "reconverted when joining"; the index is over what they are converted to
            key = "CAST(value AS REAL)" if operator in ORDERED else "value"
            self.database.execute(
                f"CREATE TABLE FilterRules{name} (rule_id INTEGER, class TEXT, property TEXT, value TEXT)"
            )
            self.database.execute(f"CREATE INDEX FilterRules{name}By ON FilterRules{name} (class, property, {key})")
        self.schema = schema
        self.groups: list[Group] = []
        """The first has number 1."""
        self.ends: dict[str, Atomic] = {}
        """End rules by the names of their rules."""
        self.operators: set[str] = set()
        """Those of triggering rules, the empty one too."""
        self.work: Counter[str] = Counter()
        """Rows that statements wrote, by kind."""
        self._known: dict[Atomic, int] = {}
        self._group_numbers: dict[Group, int] = {}
        self._keep_results = keep_results

    def close(self) -> None:
        self.database.close()

    def enter(self, rules: Iterable[Rule]) -> None:
        """Merge the rules' dependency trees into the global graph (section 3.3.2): what is there already is shared.
        Raises ValueError as `decompose`."""
        for rule in rules:
            end = decompose(rule, self.schema, self.ends)
            self.ends[rule.name] = end
            self._write("INSERT INTO EndRules VALUES (?, ?)", self._enter(end), rule.name)
        if self._keep_results:
            self._write("INSERT OR IGNORE INTO Kept SELECT rule_id FROM EndRules")
        self._write("INSERT OR IGNORE INTO Kept SELECT source FROM GroupSources")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.database.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")

    def _enter(self, rule: Atomic) -> int:
        if rule in self._known:
            return self._known[rule]
        sources = (self._enter(rule.left), self._enter(rule.right)) if isinstance(rule, Join) else ()
        number = self._known[rule] = len(self._known) + 1
        if isinstance(rule, Triggering):
            self._enter_triggering(number, rule)
            return number
        group = self._enter_group(rule.group)
        types = rule.group.type, rule.group.other_type
        views = (f"view({source}, {type})" for source, type in zip(sources, types, strict=True))
        text = f"search {next(views)} a, {next(views)} b register a of group {group}"
        self._write("INSERT INTO AtomicRules VALUES (?, ?, ?, ?)", number, text, rule.type, group)
        self._write("INSERT INTO RulePairs VALUES (?, ?, ?, ?)", *sources, group, number)
        for param, source in enumerate(sources, 1):
            self._write("INSERT INTO RuleDependencies VALUES (?, ?, ?, ?)", source, number, param, group)
            self._write("INSERT OR IGNORE INTO GroupSources VALUES (?, ?)", source, group)
        return number

    def _enter_triggering(self, number: int, rule: Triggering) -> None:
        self.operators.add(rule.operator)
        self._write("INSERT INTO AtomicRules VALUES (?, ?, ?, NULL)", number, rule.text, rule.type)
        if rule.operator:
            table = f"FilterRules{FILTER_RULES[rule.operator]}"
            self._write(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", number, rule.type, rule.attribute, rule.constant)
        else:
            self._write("INSERT INTO FilterRules VALUES (?, ?)", rule.type, number)

    def _enter_group(self, group: Group) -> int:
        if group not in self._group_numbers:
            self.groups.append(group)
            self._group_numbers[group] = len(self.groups)
            self._write("INSERT INTO RuleGroups VALUES (?, ?)", len(self.groups), group.text)
        return self._group_numbers[group]

    def _write(self, statement: str, *values: object) -> None:
        self.database.execute(statement, values)

    # ---- input of the filter ----------------------------------------------------------------------------------------

    def fill_filter_data(self, resources: str) -> int:
        """Put the atoms of resources as they are now into ``FilterData``, with their classes, and one for each
        resource itself (section 3.2). `resources`: a query that gives them. Return how many."""
        self.run("", "DELETE FROM FilterData")
        resources = f"FROM ({resources}) r CROSS {_CLASSES}"
        found = self.run(
            "atoms",
            f"INSERT INTO FilterData SELECT DISTINCT r.uri_reference, c.value, s.property, s.value {resources} "
            f"CROSS JOIN Statements s ON s.uri_reference = r.uri_reference WHERE s.property <> '{CLASS}'",
        )
        return found + self.run(
            "atoms",
            f"INSERT INTO FilterData SELECT DISTINCT r.uri_reference, c.value, '{SUBJECT}', r.uri_reference "
            f"{resources}",
        )

    def run(self, kind: str, statement: str, *values: object) -> int:
        """Execute a statement that writes; return how many rows, which are counted as work of a kind."""
        rows = max(0, self.database.execute(statement, values).rowcount)
        if kind:
            self.work[kind] += rows
        return rows


def quote(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
