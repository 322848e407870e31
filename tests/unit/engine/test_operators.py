"""Operators through the engine: in FILTER, in BIND, as predicates, wherever a query may hold them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from triplecast.engine import Engine, Receipt
from triplecast.errors import InputError
from triplecast.operators import declared_operators
from triplecast.operators.asking.availability import QUARANTINE
from triplecast.residual import JoinRows, PublicationConditions, ResidualPlan, Verdict, solve_pair

P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
TTL = f"@prefix : <https://example.org/> . @prefix w: <{WILD}> . "
assert wild_operators


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        yield opened


def told(receipt: Receipt) -> dict[str, list[dict[str, str]]]:
    return {
        match.subscription: [{name: term.value for name, term in row.items()} for row in match.bindings]
        for match in receipt.matches
    }


QUERIES = {
    "filter": "SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 3) }",
    "filter-false": "SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 300) }",
    "bind": "SELECT ?p ?n { ?p a :Picture BIND(w:size(?p) * 2 AS ?n) }",
    "property": "SELECT ?p ?n { ?p a :Picture ; w:size ?n }",
    "constant": "ASK { ?p a :Picture ; w:size 5 }",
    "other-constant": "ASK { ?p a :Picture ; w:size 6 }",
    "many": "SELECT ?l { ?p :title ?t . ?t w:letters ?l }",
    "pairs": "SELECT ?n { ?p :title ?t . ?t w:pairs ('e' ?n) }",
    "same": "SELECT ?n { ?p :title ?t . ?t w:pairs (?n ?n) }",
    "joined": "SELECT ?l { ?p :title ?t . ?t w:letters ?l . ?u w:letters ?l . ?p :by ?u }",
    "both": "SELECT ?n ?m { ?p a :Picture ; w:size ?n ; :title ?t BIND(w:lengths(?t) AS ?m) FILTER(?n = ?m - 1) }",
    "bool": "ASK { ?p :title ?t FILTER(w:long(?t) && !w:long('abc')) }",
    "bool-triple": "ASK { ?p :title ?t . ?t w:long () }",
    "or": "ASK { ?p :title ?t FILTER(w:size(?p) > 300 || w:long(?t)) }",
    "optional": "SELECT ?p ?n { ?p a :Picture OPTIONAL { ?p :title ?t . ?t w:lengths ?n FILTER(?n > 100) } }",
    "optional-found": "SELECT ?p ?n { ?p a :Picture OPTIONAL { ?p :title ?t . ?t w:lengths ?n } }",
    "not-exists": "SELECT ?p { ?p a :Picture FILTER NOT EXISTS { ?p :title ?t FILTER(w:long(?t)) } }",
    "exists": "SELECT ?p { ?p a :Picture FILTER EXISTS { ?p :title ?t FILTER(w:long(?t)) } }",
    "minus": "SELECT ?p { ?p a :Picture MINUS { ?p :title ?t . ?t w:lengths 3 } }",
    "union": "SELECT ?p { { ?p a :Picture FILTER(w:size(?p) = 5) } UNION { ?p :title ?t FILTER(w:long(?t)) } }",
    "count": "SELECT (COUNT(?l) AS ?n) { ?p :title ?t . ?t w:letters ?l } HAVING(COUNT(*) > 0)",
    "having": "SELECT ?p { ?p :title ?t . ?t w:letters ?l } GROUP BY ?p HAVING(w:size(?p) > COUNT(?l))",
    "subselect": "SELECT ?p { { SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 3) } LIMIT 1 } }",
    "path": "SELECT ?n { ?p :title/^:title ?q . ?q w:size ?n }",
    "construct": "CONSTRUCT { ?p :bytes ?n } { ?p a :Picture ; w:size ?n }",
    "alone": "ASK { FILTER(w:quads(1) = 3) }",
    "alone-produced": "SELECT ?n { <urn:pic> w:size ?n }",
    "distinct": "SELECT DISTINCT ?n { ?p ?any ?o . ?o w:quads ?n }",
}
DOCUMENT = TTL + '<urn:pic> a :Picture ; :title "timber" ; :by "term" .'
WANTED: dict[str, list[dict[str, str]]] = {
    "filter": [{"p": "urn:pic"}],
    "bind": [{"p": "urn:pic", "n": "10"}],
    "property": [{"p": "urn:pic", "n": "5"}],
    "constant": [{}],
    "many": [{"l": letter} for letter in "beimrt"],
    "pairs": [{"n": "4"}],
    "joined": [{"l": letter} for letter in "emrt"],
    "both": [{"n": "5", "m": "6"}],
    "bool": [{}],
    "bool-triple": [{}],
    "or": [{}],
    "optional": [{"p": "urn:pic"}],
    "optional-found": [{"p": "urn:pic", "n": "6"}],
    "exists": [{"p": "urn:pic"}],
    "minus": [{"p": "urn:pic"}],
    "union": [{"p": "urn:pic"}, {"p": "urn:pic"}],
    "count": [{"n": "6"}],
    "subselect": [{"p": "urn:pic"}],
    "path": [{"n": "5"}],
    "construct": [{"p": "urn:pic", "n": "5"}],
    "alone": [{}],
    "alone-produced": [{"n": "5"}],
    "distinct": [{"n": "3"}],
}


def test_every_place_in_a_query(engine: Engine) -> None:
    for name, text in QUERIES.items():
        engine.subscribe(P + text, id=name)
    receipt = engine.publish(DOCUMENT, "text/turtle", attachments={"urn:pic": b"12345"})
    assert receipt.undecided == ()
    assert told(receipt) == WANTED


def test_a_predicate_is_asked_once_for_all_subscriptions(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(40):
        text = (
            f"SELECT * {{ ?p a :Picture ; :log ?l ; :n ?m BIND(w:counted(?l) AS ?one) FILTER(?m + ?one > {number}) }}"
        )
        engine.subscribe(P + text, id=f"s{number}")
    documents = [f'{TTL} <urn:p{n}> a :Picture ; :log "{log}" ; :n {n} .' for n in range(10)]
    matches = sum(len(engine.publish(text, "text/turtle").matches) for text in documents)
    assert matches == sum(n + 1 > number for n in range(10) for number in range(40))
    assert len(log.read_text().splitlines()) == 10
    assert engine.statistics().work.operator_calls == 10


def test_subscriptions_that_are_written_alike_are_calculated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[ResidualPlan] = []

    def counted(plan: ResidualPlan, rows: JoinRows, conditions: PublicationConditions) -> Verdict:
        solved.append(plan)
        return solve_pair(plan, rows, conditions)

    monkeypatch.setattr("triplecast.match.resolve.solve_pair", counted)
    with Engine() as engine:
        for number in range(30):
            engine.subscribe(
                P + f"SELECT ?n {{ ?p a :Picture ; w:size ?n FILTER(?n > {number % 3}) }}", id=f"s{number}"
            )
        receipt = engine.publish(TTL + "<urn:pic> a :Picture .", "text/turtle", attachments={"urn:pic": b"12"})
    assert len(receipt.matches) == 20
    assert len(solved) == 2 * 3, "three texts, before the call and after it"


def test_cheap_conditions_come_first(engine: Engine, tmp_path: Path) -> None:
    """Also those that were written behind, in EXISTS, or that need another operator's cheap part."""
    log = tmp_path / "log"
    for number, rest in enumerate(
        ("FILTER(?n > 3)", "FILTER EXISTS { ?p :b ?c }", "{ ?p :d ?e }", "OPTIONAL { ?p :f ?g } FILTER(BOUND(?g))")
    ):
        engine.subscribe(P + f"SELECT * {{ ?p :log ?l ; :n ?n FILTER(w:counted(?l) = 1) {rest} }}", id=f"s{number}")
    engine.publish(f'{TTL} <urn:p> :log "{log}" ; :n 2 .', "text/turtle")
    assert not log.exists()


WILDS = ("hangs", "raises", "exits", "million", "wrong", "eats")


def test_wild_operators_harm_nobody_else(engine: Engine) -> None:
    for name in WILDS:
        engine.subscribe(P + f"SELECT ?n {{ ?p a :Picture BIND(w:{name}(?p) AS ?n) }}", id=name)
        engine.subscribe(P + f"ASK {{ ?p a :Picture FILTER(w:{name}(?p) > 1 && ?p = <urn:other>) }}", id=f"{name}-not")
        engine.subscribe(P + f"ASK {{ ?p a :Picture FILTER(w:{name}(?p) > 1 || ?p = <urn:pic>) }}", id=f"{name}-or")
    engine.subscribe(P + "SELECT ?n { ?p a :Picture ; w:size ?n }", id="size")
    receipt = engine.publish(TTL + "<urn:pic> a :Picture .", "text/turtle", attachments={"urn:pic": b"123"})
    assert told(receipt) == {"size": [{"n": "3"}], **{f"{name}-or": [{}] for name in WILDS}}
    reasons = {pair.subscription: pair.reason for pair in receipt.undecided}
    assert set(reasons) == set(WILDS)
    for name, reason in reasons.items():
        assert reason.startswith(
            f"operator <{WILD}{name}>(<urn:pic>) version 1 failed on <{receipt.publications[0].graph}>: "
        )
    work = engine.statistics().work
    assert (work.operator_calls, work.operator_failures, work.undecided) == (7, 6, 6)


def test_a_replay_tells_the_same(tmp_path: Path) -> None:
    """Also after the outbox was lost: an operator that answers at random is not asked again, nor one that failed."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(P + "SELECT ?n { ?p a :Picture BIND(w:chance(?p) AS ?n) }", id="chance")
        engine.subscribe(P + "SELECT (SUM(?m) AS ?n) { ?p a :Picture BIND(w:chance(?p) AS ?m) } GROUP BY ?p", id="sum")
        engine.subscribe(P + "SELECT ?n { ?p a :Picture BIND(w:raises(?p) AS ?n) }", id="raises")
        for number in range(3):
            engine.publish(f"{TTL} <urn:p{number}> a :Picture .", "text/turtle")
        first = [(each.id, each.json) for each in engine.notifications()]
        undecided = engine.undecided()
        assert (len(first), len(undecided)) == (6, 3)
    for name in ("outbox.sqlite", "outbox.sqlite-wal", "outbox.sqlite-shm", "outbox.end"):
        (tmp_path / name).unlink(missing_ok=True)
    with Engine.open(tmp_path) as engine:
        assert [(each.id, each.json) for each in engine.notifications()] == first
        assert engine.undecided() == undecided
        assert engine.statistics().work.operator_calls == 0


def test_attachments_are_content(tmp_path: Path) -> None:
    text = TTL + "<urn:pic> a :Picture ."
    with Engine.open(tmp_path) as engine:
        engine.subscribe(P + "SELECT ?n { ?p a :Picture ; w:size ?n }", id="size")
        outcomes = []
        for content in (b"1", b"1", b"22"):
            receipt = engine.publish(text, "text/turtle", graph="urn:g", attachments={"urn:pic": content})
            (accepted,) = receipt.publications
            outcomes.append((accepted.version, accepted.outcome, told(receipt).get("size")))
        assert outcomes == [(1, "accepted", [{"n": "1"}]), (1, "unchanged", None), (2, "accepted", [{"n": "2"}])]
    with Engine.open(tmp_path) as engine:
        assert len(engine.preview(P + "ASK { ?p a :Picture ; w:size ?n }").matches) == 2


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"no iri": b""}, "no absolute IRI"),
        ({"urn:a": "text"}, "the attachment <urn:a> is str"),
        ([b""], "attachments are list"),
        ({"urn:a": bytes((64 << 20) + 1)}, "67,108,865 bytes"),
    ],
)
def test_attachments_that_cannot_be(engine: Engine, given: object, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        engine.publish("", "text/turtle", attachments=given)  # type: ignore[arg-type]


FORGOTTEN = """
from triplecast.operators import operator

@operator("https://example.org/forgotten#twice", version="{version}", arguments=("bound", "free"))
def twice(event, number):
    return {factor} * int(number.value)
"""
OPENED = """
import os
import shutil
import subprocess
import sys
from triplecast.engine import Engine
if sys.argv[2:]:
    __import__(sys.argv[2])
with Engine.open(sys.argv[1]) as engine:
    if not list(engine.subscriptions()):
        text = "SELECT ?m {{ ?p <urn:n> ?n . ?n <https://example.org/forgotten#twice> ?m FILTER(?m > {most}) }}"
        engine.subscribe(text, id="twice")
    receipt = engine.publish(f"<urn:p> <urn:n> {number} .", "text/turtle", graph="urn:g")
    print([row["m"].value for match in receipt.matches for row in match.bindings], len(receipt.pending))
    engine._journal.check()
"""


def test_operators_are_part_of_the_journal(tmp_path: Path) -> None:
    """A process that does not declare them still knows what subscriptions ask; a new version answers from then on, and
    an index that is lost is made again with or without them."""
    module = tmp_path / "forgotten_operators.py"

    def opened(number: int, *modules: str) -> str:
        plan = OPENED.format(most=0, number=number)
        command = [sys.executable, "-c", plan, str(tmp_path / "folder"), *modules]
        path = os.pathsep.join((str(tmp_path), *(each for each in sys.path if each)))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    module.write_text(FORGOTTEN.format(version="1", factor=2))
    assert opened(3, "forgotten_operators") == "['6'] 0"
    shutil.rmtree(tmp_path / "folder" / "index")
    assert opened(4) == "['8'] 0"
    module.write_text(FORGOTTEN.format(version="2", factor=3))
    assert opened(5, "forgotten_operators") == "['15'] 0"
    module.rename(tmp_path / "elsewhere.py")
    shutil.rmtree(tmp_path / "folder" / "index")
    assert opened(6) == "[] 1"
    (tmp_path / "elsewhere.py").rename(module)
    assert opened(7) == "['21'] 0"


def test_operators_in_a_script(tmp_path: Path) -> None:
    """A script that declares operators and stands under ``__main__`` is imported by the worker, and not run again."""
    script = tmp_path / "script.py"
    script.write_text(
        FORGOTTEN.format(version="1", factor=2)
        + "\nfrom triplecast.engine import Engine\n"
        + "def main():\n    with Engine() as engine:\n"
        + '        engine.subscribe("SELECT ?m { ?p <urn:n> ?n . ?n <https://example.org/forgotten#twice> ?m }")\n'
        + '        receipt = engine.publish("<urn:p> <urn:n> 4 .", "text/turtle")\n'
        + "        print(receipt.matches[0].json if receipt.matches else receipt.pending)\n"
        + 'if __name__ == "__main__":\n    main()\n'
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment)
    assert answer.stdout == '[{"m":"\\"8\\"^^<http://www.w3.org/2001/XMLSchema#integer>"}]\n', answer.stderr
    script.write_text(script.read_text().replace('if __name__ == "__main__":\n    main()', "main()"))
    answer = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment)
    assert "only imports operator modules" in answer.stdout


def test_what_was_met_in_quarantine_stays_undecided_when_the_operator_answers_again(tmp_path: Path) -> None:
    """Also in a replay, and for its content published again; the publication's next version is asked about."""
    declared = declared_operators().find(WILD + "long")
    assert declared is not None
    with Engine.open(tmp_path) as engine:
        engine.subscribe(P + "ASK { ?p :title ?t FILTER(w:long(?t)) }", id="long")
        health = engine._asker.performer.health(declared)
        health.in_a_row = QUARANTINE
        (pair,) = engine.publish(TTL + '<urn:p> :title "first" .', "text/turtle", "urn:g").undecided
        assert f"operator <{WILD}long> version 1 is quarantined after " in pair.reason
        work = engine.statistics().work
        assert (work.operator_calls, work.operator_failures, work.undecided) == (1, 1, 1)
        health.in_a_row = 0
        assert engine.publish(TTL + '<urn:p> :title "first" .', "text/turtle", "urn:g").matches == ()
        assert len(engine.publish(TTL + '<urn:p> :title "second" .', "text/turtle", "urn:g").matches) == 1
        told = [(each.publication, each.version) for each in engine.notifications()], engine.undecided()
        assert told[0] == [("urn:g", 2)]
        assert [each.version for each in told[1]] == [1]
    for path in tmp_path.glob("outbox*"):
        path.unlink()
    with Engine.open(tmp_path) as engine:
        assert ([(each.publication, each.version) for each in engine.notifications()], engine.undecided()) == told
        assert engine.statistics().work.operator_calls == 0
