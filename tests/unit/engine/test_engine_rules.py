"""Rules in an engine: scopes, changed resources, searched rules, files, restarts, and what commands show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triplecast import Document, Engine, InputError, QuerySyntaxError, Subscription
from triplecast.cli import main
from triplecast.engine import Match
from triplecast.journal import JournalFile

PREFIX = "prefix : <http://x/>\n"
TURTLE = """@prefix : <http://x/> . @prefix m: <urn:triplecast:mdv:> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . """
SCHEMA = (
    TURTLE
    + """
:Provider a rdfs:Class . :Fast rdfs:subClassOf :Provider . :Info a rdfs:Class .
:host rdfs:domain :Provider ; rdfs:range xsd:string . :info rdfs:range :Info ; m:strong true .
:next rdfs:range :Provider .
:memory rdfs:range xsd:integer . :note rdfs:range xsd:string ; m:setValued true . """
)
PASSAU = PREFIX + "search Provider c register c where c.host contains 'passau'"
LARGE = PREFIX + "search Provider c register c where c.info.memory > 64"


def document(kind: str = "Fast", host: str = "p.passau.de", memory: str = '"92"', more: str = "") -> str:
    """`memory` is a plain string, as in the paper's RDF/XML."""
    return f":host1 a :{kind} ; :host '{host}' ; :info :info1 . :info1 a :Info ; :memory {memory} . {more}"


def publish(engine: Engine, turtle: str, name: str = "d") -> dict[str, Match]:
    receipt = engine.publish(TURTLE + turtle, "text/turtle", f"http://x/{name}")
    assert not receipt.rejects
    assert not receipt.undecided
    return {match.subscription: match for match in receipt.matches}


def resources(rows: list[dict[str, object]]) -> list[str]:
    return [str(row["c"])[len("<http://x/") : -1] for row in rows]


def test_a_resource_is_added_changed_and_removed() -> None:
    with Engine() as engine:
        engine.load_schema(SCHEMA, "text/turtle")
        for id, text in (("passau", PASSAU), ("large", LARGE)):
            assert engine.subscribe(text, id=id, language="rule").cost in ("narrow", "predicate")
        first = publish(engine, document())
        assert {id: (match.change, resources(match.added)) for id, match in first.items()} == {
            "passau": ("added", ["host1"]), "large": ("added", ["host1"]),
        }  # fmt: skip
        changed = publish(engine, document(memory="128"))  # of what a strong reference leads to
        for id in ("passau", "large"):
            assert (changed[id].change, changed[id].added, changed[id].removed) == ("changed", [], [])
            assert resources(changed[id].changed) == ["host1"]
            assert changed[id].recorded.row()["changed"]["results"]["bindings"] == [
                {"c": {"type": "uri", "value": "http://x/host1"}}
            ]
        both = publish(engine, document(memory="32"))
        assert (both["passau"].change, both["large"].change) == ("changed", "removed")
        assert resources(both["large"].removed) == ["host1"]
        assert publish(engine, document(memory="32"), "copy") == {}, "triples that were there already"
        assert publish(engine, ":other a :Info ; :memory 1 .", "other") == {}
        weak = publish(engine, ":host2 a :Provider ; :host 'q.passau.de' ; :next :host1 .", "weak")
        assert resources(weak["passau"].added) == ["host2"]
        (told,) = publish(engine, ":host1 :note 'n' .", "note").values()
        assert resources(told.changed) == ["host1"], "host2 refers to it weakly"


def test_a_change_that_strong_references_bring_or_take() -> None:
    with Engine() as engine:
        engine.load_schema(SCHEMA, "text/turtle")
        engine.subscribe(PASSAU, id="passau", language="rule")
        publish(engine, ":host1 a :Provider ; :host 'passau' ; :info :a . :a :info :b . :b :info :a .")
        far = publish(engine, ":b :memory 1 .", "far")
        assert resources(far["passau"].changed) == ["host1"], "through a circle"
        cut = publish(engine, ":host1 a :Provider ; :host 'passau' .")
        assert resources(cut["passau"].changed) == ["host1"]
        assert publish(engine, ":b :memory 2 .", "far") == {}, "nothing refers to it any more"
        assert resources(publish(engine, ":host1 :info :b .", "link")["passau"].changed) == ["host1"]
        engine.load_schema(SCHEMA.replace("m:strong true", "m:strong false"), "text/turtle")
        assert publish(engine, ":b :memory 3 .", "far") == {}, "the reference is not strong any more"


@pytest.mark.parametrize(
    ("condition", "document", "matches"),
    [
        ("c.note? = 'a' and c.note? = 'b'", ":note 'a', 'b'", True),
        ("c.note = 'a' and c.note = 'b'", ":note 'a', 'b'", False),
        ("c.note = 'a' and c.note != 'b'", ":note 'a', 'b'", True),
        ("c.note != 'a'", ":note 'a'", False),
        ("c.note != 'a'", ":other 'b'", False),
        ("c.info.memory > 1 and c.info.cpu > 1", ":info [ :memory 2 ], [ :cpu 2 ]", False),
        ("c.info?.memory > 1 and c.info?.cpu > 1", ":info [ :memory 2 ], [ :cpu 2 ]", True),
        ("c.info.memory > 1 or c.info.cpu > 5", ":info [ :memory 2 ]", True),
        ("(c.info.memory > 1 or c.note = 'a') and c.info.cpu > 1", ":info [ :memory 2 ], [ :cpu 2 ]", False),
        ("c.note contains 'A'", ":note 'abc'", False),
        ("c.note contains 'bc'", ":note 'abc'@en", True),
        ("c.note = 'abc'", ":note 'abc'@en", False),
        ("c.next = c", ":next :host1", True),
        ("c.next.next = c.next", ":next :host2 . :host2 :next :host2", True),
        ("c = :host1 and c.on = true", ":on true", True),
        ("c.memory = 2", ":memory 2.0", True),
        ("c.memory = '2'", ":memory 2", False),
    ],
)
def test_what_a_condition_means_without_a_schema(condition: str, document: str, matches: bool) -> None:
    with Engine() as engine:
        text = f"{PREFIX}search Provider c register c where {condition}"
        engine.subscribe(text, id="alone", language="rule", scope="publication")
        engine.subscribe(text, id="together", language="rule")
        told = publish(engine, f":host1 a :Provider ; {document} .")
        assert sorted(told) == (["alone", "together"] if matches else [])


def test_publication_scope_asks_each_document_alone() -> None:
    with Engine() as engine:
        engine.subscribe(LARGE, id="alone", language="rule", scope="publication")
        engine.subscribe(LARGE, id="together", language="rule")
        assert publish(engine, ":host1 a :Provider ; :info :info1 .", "one") == {}
        assert sorted(publish(engine, ":info1 :memory 92 .", "two")) == ["together"]
        assert sorted(publish(engine, document("Provider", memory="92"))) == ["alone", "together"]
        assert [each.scope for each in engine.subscriptions()] == ["publication", "repository"]
        assert len(engine.preview(LARGE, language="rule").matches) == 1
        assert engine.query(LARGE, language="rule") == engine.query(
            "PREFIX : <http://x/> SELECT DISTINCT ?c { ?c a :Provider ; :info/:memory ?m FILTER(?m > 64) }"
        )


def test_a_rule_keeps_the_rules_and_the_schema_it_was_registered_with(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.load_schema(SCHEMA, "text/turtle")
        engine.subscribe(PASSAU, id="passau", language="rule")
        both = PREFIX + "search passau c register c where c.info.memory > 64"
        engine.subscribe(both, id="both", language="rule")
        engine.unsubscribe("passau")
        engine.subscribe(PREFIX + "search Info c register c", id="passau", language="rule")
        engine.load_schema("", "text/turtle")
        engine.subscribe(LARGE, id="untyped", language="rule")
        (listed,) = (each for each in engine.subscriptions() if each.id == "both")
        assert listed.text == both
    with Engine.open(tmp_path) as engine:
        told = publish(engine, document())
        assert resources(told["both"].added) == ["host1"], "a subclass, and text that is read as a number"
        assert "untyped" not in told
        assert resources(publish(engine, document(host="elsewhere"))["both"].removed) == ["host1"]
        changes = [(each.subscription, each.change) for each in engine.notifications()]
        assert changes == [("both", "added"), ("passau", "added"), ("both", "removed")]


def test_rules_registered_together_may_search_each_other_but_not_in_a_circle() -> None:
    def rule(id: str, searched: str) -> Subscription:
        return Subscription(id, f"{PREFIX}search {searched} c register c where c.host contains '{id}'", "rule")

    with Engine() as engine:
        found = engine.subscribe_many([rule("a", "b"), rule("b", "Provider"), rule("Info", "Info"), rule("q", "'q'")])
        assert [isinstance(each, QuerySyntaxError) for each in found] == [False, False, False, True]
        assert sorted(publish(engine, ":host1 a :Provider ; :host 'ab' .")) == ["a", "b"]
        circle = engine.subscribe_many([rule("x", "y"), rule("y", "z"), rule("z", "x"), rule("w", "Provider")])
        assert "x searches y, which searches z, which searches x" in str(circle[2])
        assert [isinstance(each, QuerySyntaxError) for each in circle] == [True, True, True, False]
        assert "the rule z is refused itself" in str(circle[1])


def test_a_decomposition_is_that_of_the_paper_and_counts_what_is_shared() -> None:
    with Engine() as engine:
        engine.load_schema(SCHEMA + ":cpu rdfs:range xsd:integer .", "text/turtle")
        where = "c.host contains 'uni-passau.de' and c.info.memory > 64 and c.info.cpu > 500"
        engine.subscribe(f"{PREFIX}search Provider c register c where {where}", id="paper", language="rule")
        engine.subscribe(LARGE, id="large", language="rule")
        engine.subscribe(LARGE.replace("memory > 64", "cpu > 500"), id="quick", language="rule")
        engine.subscribe(LARGE, id="gone", language="rule")
        engine.unsubscribe("gone")
        (parts,) = engine.explain_rule("paper").alternatives
        assert [(part.name, part.text, part.shared) for part in parts] == [
            ("T1", "search Provider x register x where x.host contains 'uni-passau.de'", 0),
            ("T2", "search Info x register x where x.memory > 64", 1),
            ("T3", "search Info x register x where x.cpu > 500", 1),
            ("J1", "search T2 x, T3 y register x where x = y", 0),
            ("J2", "search T1 x, J1 y register x where x.info = y", 0),
        ]
        assert parts[-1].grouped == 2, "the joins of the others are alike but for what they join"
        assert "T2  search Info x register x where x.memory > 64  (1 share it)" in str(engine.explain_rule("paper"))
        with pytest.raises(InputError, match="no live subscription 'gone'"):
            engine.explain_rule("gone")
        engine.subscribe("ASK { ?s ?p 1 }", id="query")
        with pytest.raises(InputError, match="is in sparql"):
            engine.explain_rule("query")


def test_commands_read_rules_and_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "catalogue")
    for name, text in (("passau.rule", PASSAU), ("schema.ttl", SCHEMA), ("d.ttl", TURTLE + document())):
        (tmp_path / name).write_text(text)
    both = {
        "id": "both",
        "language": "rule",
        "text": PREFIX + "search 'passau.rule' c register c where c.info.memory > 64",
    }
    (tmp_path / "more.jsonl").write_text(json.dumps(both) + "\n")
    rules = [str(tmp_path / "more.jsonl"), str(tmp_path / "passau.rule")]
    published, schema = str(tmp_path / "d.ttl"), str(tmp_path / "schema.ttl")
    assert main(["match", "--subscriptions", *rules, "--publications", published]) == 3, (
        "no subclasses without a schema"
    )
    capsys.readouterr()
    assert main(["match", "--subscriptions", *rules, "--publications", published, "--schema", schema, "--json"]) == 0
    assert [json.loads(line)["subscription"] for line in capsys.readouterr().out.splitlines()] == [
        "both",
        "passau.rule",
    ]
    assert main(["explain", published, rules[1], "--schema", schema]) == 0
    assert main(["preview", rules[1], "--publications", published, "--schema", schema]) == 0
    capsys.readouterr()
    assert main(["schema", folder, schema]) == 0
    assert "3 classes, 5 properties, 1 set-valued, 1 strong" in capsys.readouterr().out
    assert main(["schema", folder]) == 0
    assert "<http://x/Fast> <http://www.w3.org/2000/01/rdf-schema#subClassOf>" in capsys.readouterr().out
    assert main(["subscribe", folder, *rules]) == 0
    assert main(["publish", folder, published]) == 0
    capsys.readouterr()
    (tmp_path / "d.ttl").write_text(TURTLE + document(memory="128"))
    assert main(["publish", folder, published]) == 0
    assert "~ ?c=<http://x/host1>" in capsys.readouterr().out
    assert main(["notifications", folder, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["change"] for row in rows] == ["added", "added", "changed", "changed"]
    assert rows[-1]["changed"]["results"]["bindings"] == [{"c": {"type": "uri", "value": "http://x/host1"}}]
    assert main(["explain", folder, "both"]) == 0
    assert "J1  search T1 x, T2 y register x where x.info = y" in capsys.readouterr().out
    assert main(["explain", folder, "both", "--json"]) == 0
    assert [part["name"] for part in json.loads(capsys.readouterr().out)["alternatives"][0]] == ["T1", "T2", "J1"]
    assert main(["explain", folder, "nobody"]) == 2


def test_changed_resources_are_told_again_alike(tmp_path: Path) -> None:
    """What a killed writer had not told is told by the next one, of the schema as it was."""
    with Engine.open(tmp_path) as engine:
        engine.load_schema(SCHEMA, "text/turtle")
        engine.subscribe(PASSAU, id="passau", language="rule")
        publish(engine, document())
    with Engine.open(tmp_path) as engine:
        told = engine._matching._driver.next  # the documents below are accepted, and not matched
        engine._matching._driver.next = lambda: None
        data = (TURTLE + document(memory="128")).encode()
        engine.publish_many([Document("d", data, "text/turtle", "http://x/d")])
        engine._matching._driver.next = told
    with Engine.open(tmp_path) as engine:
        changes = [(each.change, len(each.changed)) for each in engine.notifications()]
    assert changes == [("added", 0), ("changed", 1)]
    with JournalFile.read_only(tmp_path) as journal:
        journal.check()
