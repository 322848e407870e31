"""The text's own example: figures 1, 4 and 5 to 9 of the MDV paper."""

from __future__ import annotations

from experiments.mdv.decompose import Join, Triggering, decompose
from experiments.mdv.rules import CLASS, Atom, Event, Path, Predicate, Rule, Search, Step
from experiments.mdv.updates import Filter

SCHEMA = {"serverInformation": "ServerInformation"}
HOST, INFO = "doc.rdf#host", "doc.rdf#info"
FIGURE_1 = frozenset(
    {
        Atom(HOST, CLASS, "CycleProvider"),
        Atom(HOST, "serverHost", "pirates.uni-passau.de"),
        Atom(HOST, "serverPort", "5874"),
        Atom(HOST, "serverInformation", INFO),
        Atom(INFO, CLASS, "ServerInformation"),
        Atom(INFO, "memory", "92"),
        Atom(INFO, "cpu", "600"),
    }
)


def of(*properties: str) -> Path:
    return Path("c", tuple(map(Step, properties)))


SECTION_331 = Rule(
    "example",
    (Search("c", "CycleProvider"),),
    "c",
    (
        Predicate(of("serverHost"), "contains", "uni-passau.de"),
        Predicate(of("serverInformation", "memory"), ">", "64"),
        Predicate(of("serverInformation", "cpu"), ">", "500"),
    ),
)


def test_the_rule_is_decomposed_as_in_figure_5() -> None:
    end = decompose(SECTION_331, SCHEMA, {})
    rule_a = Triggering("ServerInformation", "memory", ">", "64")
    rule_b = Triggering("ServerInformation", "cpu", ">", "500")
    rule_c = Triggering("CycleProvider", "serverHost", "contains", "uni-passau.de")
    assert isinstance(end, Join)
    rule_e = end.right
    assert end.left == rule_c
    assert isinstance(rule_e, Join)
    assert {rule_e.left, rule_e.right} == {rule_a, rule_b}
    assert end.group.text.endswith("register a where a.serverInformation = b")
    assert rule_e.group.text.endswith("register a where a = b")


def test_the_filter_runs_as_in_figure_9() -> None:
    filter = Filter(SCHEMA)
    filter.subscribe([SECTION_331])
    (change,) = filter.apply([Event("doc.rdf", FIGURE_1)])
    assert change.added == {("example", HOST)}
    database = filter.tables.database
    found = set(
        database.execute(
            'SELECT f.uri_reference, a.class, a."group" IS NULL FROM Found f JOIN AtomicRules a USING (rule_id)'
        )
    )
    assert found == {
        (INFO, "ServerInformation", 1),
        (HOST, "CycleProvider", 1),
        (INFO, "ServerInformation", 0),
        (HOST, "CycleProvider", 0),
    }
    assert database.execute("SELECT COUNT(*) FROM Found").fetchone() == (5,)
    filter.apply([Event("doc.rdf", FIGURE_1 - {Atom(INFO, "cpu", "600")} | {Atom(INFO, "cpu", "400")})])
    changes = filter.apply([Event("doc.rdf", FIGURE_1), Event("doc.rdf", frozenset())])
    assert [(len(each.added), len(each.removed)) for each in changes] == [(1, 0), (0, 1)]
    filter.close()


def test_atomic_rules_and_groups_are_shared_as_in_figure_6() -> None:
    filter = Filter(SCHEMA)
    rules = [
        Rule(
            name,
            (Search("c", "CycleProvider"),),
            "c",
            (Predicate(of("serverInformation", name), ">", value),),
        )
        for name, value in (("memory", "64"), ("cpu", "500"))
    ]
    filter.subscribe(rules)
    database = filter.tables.database
    assert database.execute("SELECT COUNT(*) FROM AtomicRules").fetchone() == (5,)
    assert database.execute("SELECT COUNT(*) FROM RuleGroups").fetchone() == (1,)
    assert database.execute("SELECT COUNT(DISTINCT source) FROM RuleDependencies WHERE param = 1").fetchone() == (1,)
    filter.close()
