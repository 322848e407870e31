"""The filter algorithm (section 3.4): from ``FilterData`` to what atomic rules register, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.mdv.decompose import Group
from experiments.mdv.rules import ORDERED, SUBJECT
from experiments.mdv.tables import FILTER_RULES, Tables, quote


def run_filter(tables: Tables, pairs_of_rules: bool) -> None:
    """Leave in ``Found`` what atomic rules register of the resources in ``FilterData``, and of those that refer to
    them; add what is new to ``Materialized``, and to ``Fresh``. `pairs_of_rules`: c6."""
    tables.run("", "DELETE FROM Found")
    tables.run("", "DELETE FROM ResultObjects")
    _find_triggered(tables)
    while _take_results(tables):
        tables.run("", "DELETE FROM NextObjects")
        for group, number in _find_groups(tables, pairs_of_rules):
            for statement in _evaluate_group(group, number, pairs_of_rules):
                tables.run("joined", statement)
        tables.run("", "DELETE FROM ResultObjects")
        tables.run(
            "",
            "INSERT INTO ResultObjects SELECT uri_reference, rule_id FROM NextObjects "
            "EXCEPT SELECT uri_reference, rule_id FROM Found",
        )


def _find_triggered(tables: Tables) -> None:
    """The initial iteration: "joining the table FilterData with FilterRules and all FilterRules_OP tables"."""
    for operator in sorted(tables.operators):
        if operator:
            table = f"FilterRules{FILTER_RULES[operator]}"
            where = f"ON r.class = f.class AND r.property = f.property AND {_compare(operator)}"
        else:
            table, where = "FilterRules", f"ON r.class = f.class WHERE f.property = '{SUBJECT}'"
        tables.run(
            "triggered",
            "INSERT OR IGNORE INTO ResultObjects SELECT f.uri_reference, r.rule_id "
            f"FROM FilterData f CROSS JOIN {table} r {where}",
        )


def _compare(operator: str) -> str:
    if operator == "contains":
        return "instr(f.value, r.value) > 0"
    if operator not in ORDERED:
        return f"f.value {operator} r.value"
    return f"CAST(f.value AS REAL) {operator} CAST(r.value AS REAL)"


def _take_results(tables: Tables) -> int:
    """Of an iteration: "the results of atomic rules join rules depend on are materialized"."""
    found = tables.run("results", "INSERT INTO Found SELECT uri_reference, rule_id FROM ResultObjects")
    tables.run(
        "",
        "INSERT OR IGNORE INTO Fresh SELECT o.uri_reference, o.rule_id FROM ResultObjects o "
        "WHERE o.rule_id IN Kept AND NOT EXISTS (SELECT 1 FROM Materialized m "
        "WHERE m.uri_reference = o.uri_reference AND m.rule_id = o.rule_id)",
    )
    tables.run(
        "materialized",
        "INSERT OR IGNORE INTO Materialized SELECT uri_reference, rule_id FROM ResultObjects WHERE rule_id IN Kept",
    )
    return found


def _find_groups(tables: Tables, pairs_of_rules: bool) -> list[tuple[Group, int]]:
    """The groups of the rules that depend on those in ``ResultObjects``."""
    if pairs_of_rules:
        told = "FROM ResultObjects o CROSS JOIN GroupSources d ON d.source = o.rule_id"
    else:
        tables.run("", "DELETE FROM Dependents")
        tables.run(
            "dependents",
            'INSERT OR IGNORE INTO Dependents SELECT d.target, d."group" '
            "FROM (SELECT DISTINCT rule_id FROM ResultObjects) o CROSS JOIN RuleDependencies d ON d.source = o.rule_id",
        )
        told = "FROM Dependents d"
    concerned = {number for (number,) in tables.database.execute(f'SELECT DISTINCT d."group" {told}')}
    return [(tables.groups[number - 1], number) for number in sorted(concerned)]


def _evaluate_group(group: Group, number: int, pairs_of_rules: bool) -> Iterator[str]:
    """All join rules of a group at once (section 3.3.3): what is in ``ResultObjects`` on one side, what is
    materialised on the other, joined by the group's where part and split up by rule. The left side is registered."""
    into = "INSERT OR IGNORE INTO NextObjects SELECT l.uri_reference, d.target FROM"
    split = _split(number, pairs_of_rules)
    yield f"{into} {_meet('l', group.attribute, 'r', group.other_attribute)} {split}"
    yield f"{into} {_meet('r', group.other_attribute, 'l', group.attribute)} {split}"


def _meet(new: str, property: str, other: str, other_property: str) -> str:
    """From the new results of one side, by the values of a property, to those materialised of the other side, of which
    another property has the same value."""
    joins, value = "", f"{new}.uri_reference"
    if property != SUBJECT:
        joins = f"CROSS JOIN Statements s ON s.uri_reference = {value} AND s.property = {quote(property)} "
        value = "s.value"
    if other_property != SUBJECT:
        joins += f"CROSS JOIN Statements t ON t.value = {value} AND t.property = {quote(other_property)} "
        value = "t.uri_reference"
    return f"ResultObjects {new} {joins}CROSS JOIN Materialized {other} ON {other}.uri_reference = {value}"


def _split(group: int, pairs_of_rules: bool) -> str:
    """By rule, from what both sides were registered by. As printed, from the second source, which is mostly of few
    rules, to its dependents, and back to the first."""
    if pairs_of_rules:
        return f'CROSS JOIN RulePairs d ON d.source_1 = l.rule_id AND d.source_2 = r.rule_id AND d."group" = {group}'
    return (
        f'CROSS JOIN RuleDependencies e ON e.source = r.rule_id AND e.param = 2 AND e."group" = {group} '
        "CROSS JOIN RuleDependencies d ON d.target = e.target AND d.param = 1 AND d.source = l.rule_id"
    )
