"""Ground calls in workers: what operators give, and what becomes of those that do not behave."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import wild_operators
from pyoxigraph import Literal
from wild_operators import WILD

from triplecast.model.answers import LONGEST_REASON, Failed, Found, GroundCall
from triplecast.model.publication import Publication
from triplecast.operators.asking.availability import COSTLY, PROBATION, QUARANTINE, REST
from triplecast.operators.asking.workers import Performer
from triplecast.operators.declaration import declarations_in
from triplecast.operators.messages import PublicationCall
from triplecast.operators.operator_set import operator_set

PUBLICATION = Publication(
    1, "urn:g:1", 1, "2026-01-01T00:00:00.000000Z", b"<x:s> <x:p> <x:o> .\n", attachments=(("urn:pic", b"12345"),)
)
OPERATORS = operator_set(declarations_in(wild_operators.__name__))


@pytest.fixture
def performer() -> Iterator[Performer]:
    with Performer(OPERATORS) as made:
        yield made


def asked(name: str, *arguments: str, publication: Publication = PUBLICATION) -> PublicationCall:
    return PublicationCall(publication, GroundCall(WILD + name, arguments))


def rows(*values: object) -> Found:
    return Found(tuple((Literal(value),) for value in values))  # type: ignore[arg-type]


def test_what_operators_give(performer: Performer) -> None:
    performed = performer.perform(
        [
            asked("size", "<urn:pic>"),
            asked("letters", '"abca"'),
            asked("pairs", '"ab"'),
            asked("long", '"abc"'),
            asked("long", '"abcd"'),
            asked("quads", '"x"'),
            asked("lengths", '"abc"'),
            asked("lengths", '"abcd"@en'),
        ]
    )
    assert [each.answer for each in performed] == [
        rows(5),
        rows("a", "b", "c"),
        Found(((Literal("a"), Literal(0)), (Literal("b"), Literal(1)))),
        Found(()),
        Found(((),)),
        rows(1),
        rows(3),
        rows(4),
    ]
    assert all(each.seconds > 0 for each in performed)
    assert performer.children == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hangs", "timeout: no answer within 0.3 s"),
        ("raises", "error: ValueError: not this time"),
        ("exits", "crash: the child ended with status 3"),
        ("million", "error: WrongResult: it gave more than 10,000 results"),
        ("wrong", "error: WrongResult: it has to give a term, None, or terms, and gave bytes b'bytes'"),
        ("eats", "memory: "),
        ("spoils", "error: AttributeError: 'mappingproxy' object has no attribute 'clear'"),
        ("soils", "error: AttributeError: 'GraphView' object has no attribute 'clear'"),
    ],
)
def test_a_failure_is_told_with_operator_publication_and_reason(performer: Performer, name: str, told: str) -> None:
    failed, fine = performer.perform([asked(name, "<x:none>"), asked("long", '"abcd"')])
    assert isinstance(failed.answer, Failed)
    assert failed.answer.reason.startswith(f"operator <{WILD}{name}>(<x:none>) version 1 failed on <urn:g:1>: {told}")
    assert fine.answer == Found(((),))


def test_an_operator_that_is_not_declared(performer: Performer) -> None:
    (failed,) = performer.perform([asked("nowhere", '"x"')])
    assert isinstance(failed.answer, Failed)
    assert "is not declared here" in failed.answer.reason


def test_a_batch_that_fails_is_asked_again_one_by_one(performer: Performer) -> None:
    answers = [
        each.answer for each in performer.perform([asked("lengths", f'"{text}"') for text in ("ab", "fail", "c")])
    ]
    assert answers[0] == rows(2)
    assert isinstance(answers[1], Failed)
    assert answers[2] == rows(1)


def test_a_failed_batch_is_asked_again_in_halves_and_every_execution_counts(performer: Performer) -> None:
    calls = [asked("lengths", f'"{"fail" if place == 1 else place}"') for place in range(8)]
    answers = [each.answer for each in performer.perform(calls)]
    assert isinstance(answers[1], Failed)
    assert [*answers[:1], *answers[2:]] == [rows(1)] * 7
    health = performer._health[WILD + "lengths", "1"]
    assert (health.calls, health.failed, health.in_a_row) == (8 + 4 + 2 + 1 + 1 + 2 + 4, 1, 0)
    assert health.last_failure == answers[1].reason
    last = [asked("lengths", f'"{"fail" if place == 7 else place}"') for place in range(8)]
    performer.perform(last)
    assert health.in_a_row == 1, "the batches that failed before it count nothing of their own"
    performer.perform([asked("lengths", '"fail"'), asked("lengths", '"fail"@en')])
    assert health.in_a_row == 1 + 3, "the batch, and each of its two calls"
    assert health.failed == 1 + 1 + 2, "calls, and no batches"


def test_time_is_the_operators_own_and_that_of_failed_attempts() -> None:
    """By a clock that goes on by one each time somebody looks; what is measured in the worker is real."""
    with Performer(OPERATORS, clock=itertools.count().__next__) as performer:
        (first,) = performer.perform([asked("long", '"abc"')])
        assert 0 < first.seconds < 1, "the start of the worker is none of it"
        bad, fine = performer.perform([asked("lengths", '"fail"'), asked("lengths", '"ab"')])
        assert bad.seconds == 0.5 + 1
        assert 0.5 < fine.seconds < 1.5


def test_exceptions_harm_no_worker_and_count_little(performer: Performer) -> None:
    calls = [asked("raises", f'"{number}"') for number in range(QUARANTINE + 3)]
    reasons = [each.answer.reason for each in performer.perform(calls) if isinstance(each.answer, Failed)]
    assert (
        sum("ValueError: not this time" in reason and "quarantined" not in reason for reason in reasons) == QUARANTINE
    )
    assert performer.children == 1


def test_quarantine_and_probation(performer: Performer) -> None:
    deaths = QUARANTINE // COSTLY
    calls = [asked("exits", f'"{number}"') for number in range(deaths + 3)]
    answers = [each.answer for each in performer.perform(calls)]
    assert all(isinstance(answer, Failed) for answer in answers)
    assert performer.children == deaths
    last = answers[-1]
    assert isinstance(last, Failed)
    assert f"is quarantined after {deaths} failures; fix it, " in last.reason
    health = performer._health[WILD + "exits", "1"]
    assert (health.calls, health.failed, health.skipped, health.quarantined) == (deaths, deaths, 3, True)
    tried = [health.may_try(health.rests_until) for _ in range(2 * PROBATION)]
    assert sum(tried) == 2
    health.note(Failed("it hangs"), COSTLY, 5.0, 1_000.0)
    assert not any(health.may_try(1_000.0 + REST * 4.9) for _ in range(3 * PROBATION))
    assert sum(health.may_try(1_000.0 + REST * 5.0) for _ in range(3 * PROBATION)) == 3
    health.note(Found(()), 1, 5.0, 2_000.0)
    assert not health.quarantined
    assert health.may_try(2_000.0)


def test_a_quarantine_tells_how_many_calls_failed(performer: Performer) -> None:
    """Each request of two counts three in a row, one for the batch."""
    calls = [asked("lengths", '"fail"', publication=PUBLICATION._replace(graph=f"urn:g:{n}")) for n in (1, 2)]
    for _ in range(QUARANTINE // 3 + 1):
        performer.perform(calls)
    (last,) = performer.perform(calls[:1])
    assert isinstance(last.answer, Failed)
    health = performer._health[WILD + "lengths", "1"]
    assert health.failed == QUARANTINE // 3 * 2
    assert f"is quarantined after {health.failed} failures; fix it, " in last.answer.reason
    assert last.answer.reason.endswith("the last failure: " + health.last_failure)
    assert "version 1 failed on <urn:g:2>: " in health.last_failure


def test_what_is_unanswerable_is_told_and_counts_nothing(performer: Performer) -> None:
    calls = [asked("lengths", f'"{text}"') for text in ("ab", "none", "c")]
    calls += [asked("positive", f'"{number}"') for number in [-1] * (QUARANTINE + 1) + [4]]
    calls += [asked("lengths", '"refuse"'), asked("growing", '"x"')]
    answers = [each.answer for each in performer.perform(calls)]
    told = "version 1 cannot answer on <urn:g:1>:"
    assert answers[0] == rows(2)
    assert answers[1] == Failed(f'operator <{WILD}lengths>("none") {told} nothing to measure')
    assert answers[2] == rows(1)
    assert set(answers[3:-3]) == {Failed(f'operator <{WILD}positive>("-1") {told} -1 is not positive; give another')}
    assert answers[-3] == Found(((),))
    assert answers[-2] == Failed(f'operator <{WILD}lengths>("refuse") {told} the whole batch')
    assert answers[-1] == Failed(f'operator <{WILD}growing>("x") {told} it stopped')
    health = performer._health[WILD + "positive", "1"]
    assert (health.failed, health.in_a_row, health.quarantined) == (0, 0, False)
    assert health.last_failure == ""
    assert performer.children == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("raises", "error: ValueError: not this time (wild_operators.py, line LINE, in raises)"),
        (
            "sorts",
            "error: ValueError: invalid literal for int() with base 10: 'one' (wild_operators.py, line LINE, in ",
        ),
        ("million", "it gave more than 10,000 results; give what its arguments declare, and change its version"),
        ("raises", "; fix the function, or let it raise Unanswerable for what it cannot say, and change its version"),
        ("hangs", "; declare more `seconds`, or see what it waits for"),
        ("eats", "; declare more `memory`, or see what it holds"),
        ("exits", "; call the function by itself, with this publication, to see what ends its process"),
    ],
)
def test_a_reason_says_where_and_how_to_mend(performer: Performer, name: str, told: str) -> None:
    source = Path(wild_operators.__file__).read_text().splitlines()
    raised = {"raises": 'raise ValueError("not this time")', "sorts": 'return int("one") + number'}
    line = next((number for number, text in enumerate(source, 1) if text.strip() == raised.get(name)), 0)
    (failed,) = performer.perform([asked(name, '"x"')])
    assert isinstance(failed.answer, Failed)
    assert told.replace("LINE", str(line)) in failed.answer.reason


def test_an_attachment_that_is_not_there_is_unanswerable(performer: Performer) -> None:
    (failed,) = performer.perform([asked("size", "<x:none>")])
    told = (
        "cannot answer on <urn:g:1>: no attachment <x:none>; the publication has <urn:pic>; publish its bytes with it"
    )
    assert failed.answer == Failed(f"operator <{WILD}size>(<x:none>) version 1 {told}")
    assert performer._health[WILD + "size", "1"].in_a_row == 0


@pytest.mark.parametrize("graph", ["urn:g:1", "urn:g:" + "1" * 5_000])
def test_a_reason_is_short_and_can_be_written(performer: Performer, graph: str) -> None:
    (failed,) = performer.perform([asked("mumbles", '"x"', publication=PUBLICATION._replace(graph=graph))])
    assert isinstance(failed.answer, Failed)
    assert "half ? xxx" in failed.answer.reason.encode().decode()
    assert len(failed.answer.reason) == LONGEST_REASON


def test_a_worker_with_another_version_does_not_answer(performer: Performer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILD_VERSION", "2")
    (failed,) = performer.perform([asked("drifting", '"x"')])
    assert isinstance(failed.answer, Failed)
    assert "its module declares version 2 now, and 1 when the engine started" in failed.answer.reason


def test_a_reason_names_the_arguments_shortened(performer: Performer) -> None:
    failed, other = performer.perform([asked("raises", f'"{"a" * 5_000}"'), asked("raises", "<urn:pic:1>")])
    assert isinstance(failed.answer, Failed)
    assert isinstance(other.answer, Failed)
    assert failed.answer.reason.startswith(f'operator <{WILD}raises>("{"a" * 118}…) version 1 failed on <urn:g:1>: ')
    assert other.answer.reason.startswith(f"operator <{WILD}raises>(<urn:pic:1>) version 1 failed on <urn:g:1>: ")
