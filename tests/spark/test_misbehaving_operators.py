"""Operators that hang, raise, end their process, give a million bindings, give nonsense or answer at random, through
the pipeline: the others' notifications are on time, what failed is told, a replay tells the same."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "operators"))

import wild_operators
from wild_operators import WILD

from tests.spark.workplace import Workplace
from triplecast.cli import main
from triplecast.outbox import OutboxReader
from triplecast.pipeline.report import Caller, Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
assert wild_operators

P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
OTHERS = {
    "all.rq": "SELECT ?p { ?p a :Picture }",
    "titled.rq": "SELECT ?t { ?p :title ?t }",
    "counted.rq": "SELECT (COUNT(?t) AS ?n) { ?p :title ?t } GROUP BY ?p",
}
FAILURES = {
    "stuck": "timeout: no answer within 5 s",
    "raises": "error: ValueError: not this time",
    "exits": "crash: the child ended with status 3",
    "million": "error: WrongResult: ",
    "wrong": "error: WrongResult: it has to give a term, None, or terms, and gave bytes",
}
WILD_ONES = {f"{name}.rq": f"SELECT ?n {{ ?p a :Picture BIND(w:{name}(?p) AS ?n) }}" for name in (*FAILURES, "chance")}
WELL = {"well.rq": "SELECT ?p ?n { ?p :title ?t . ?t w:lengths ?n }"}
DOCUMENTS = 40
PATIENCE = 240.0


def make_place(folder: Path, queries: dict[str, str]) -> Workplace:
    return Workplace(folder, {name: P + text for name, text in queries.items()})


def drop(place: Workplace, name: str) -> None:
    """Documents, all at once."""
    lines = [
        f'{{"id": "urn:{name}{n}", "media_type": "text/turtle", "data": '
        f'"<urn:p{n}> a <https://example.org/Picture> ; <https://example.org/title> \\"{name}\\" ."}}'
        for n in range(DOCUMENTS)
    ]
    unfinished = place.output.parent / f"{name}.tmp"
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.rename(place.inbox / f"{name}.jsonl")


def count_told(place: Workplace, *names: str) -> int:
    """How many notifications of these subscriptions stand in the outbox, as another process sees it."""
    with OutboxReader.read_only(place.output) as outbox:
        return sum(each.subscription in names for each in outbox.notifications())


def seconds_until_told(place: Workplace, count: int, task: Future[Summary]) -> float:
    began = time.monotonic()
    while count_told(place, *OTHERS) < count:
        if task.done():
            task.result()
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.02)
    return time.monotonic() - began


def delays(place: Workplace, spark: SparkSession) -> tuple[list[float], list[int], Summary]:
    """From the dropping of documents to the last of the others' notifications, three times in one run that follows,
    until everything is told; and how many publications waited for operators at these moments."""
    stop, found, waiting = threading.Event(), [], []
    with ThreadPoolExecutor(1) as thread:
        task = thread.submit(place.run, spark, Caller(stop=stop))
        try:
            for number, name in enumerate(("first", "second", "third"), 1):
                drop(place, name)
                found.append(seconds_until_told(place, number * DOCUMENTS * len(OTHERS), task))
                with OutboxReader.read_only(place.output) as outbox:
                    waiting.append(len(outbox.pending(0, 1_000).positions))
            with OutboxReader.read_only(place.output) as outbox:
                while outbox.progress < outbox.told:
                    assert not task.done()
                    time.sleep(0.1)
        finally:
            stop.set()
        return found, waiting, task.result(PATIENCE)


def everything(place: Workplace) -> tuple[dict[str, str], dict[str, str]]:
    """Notifications and reasons of undecided pairs, by id."""
    with OutboxReader.read_only(place.output) as outbox:
        outbox.check()
        return {each.id: each.json for each in outbox.notifications()}, {
            pair.id: pair.reason for pair in outbox.undecided()
        }


def test_the_others_are_on_time_the_failures_are_told_and_a_replay_tells_the_same(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = make_place(tmp_path / "alone", OTHERS)
    place = make_place(tmp_path / "wild", OTHERS | WILD_ONES | WELL)
    without, _, _ = delays(alone, spark)
    beside, waiting, summary = delays(place, spark)
    with capsys.disabled():
        print(f"others' notifications after {without} s without, {beside} s beside operators that misbehave")
    assert all(count >= DOCUMENTS for count in waiting[:2]), "when all others were told, all of theirs still waited"
    assert waiting[0] == DOCUMENTS

    told, undecided = everything(place)
    documents = 3 * DOCUMENTS
    assert count_told(place, "well.rq") == count_told(place, "chance.rq") == documents
    assert len(told) == documents * (len(OTHERS) + 2)
    assert len(undecided) == documents * len(FAILURES) == summary.undecided
    with OutboxReader.read_only(place.output) as outbox:
        first = {pair.subscription.removesuffix(".rq"): pair for pair in reversed(outbox.undecided())}
    assert first.keys() == FAILURES.keys()
    for name, failure in FAILURES.items():
        pair = first[name]
        assert f"operator <{WILD}{name}>(" in pair.reason
        assert f"failed on <{pair.publication}>: {failure}" in pair.reason
    capsys.readouterr()
    assert main(["notifications", str(place.output), "--undecided", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(undecided)

    for name in ("outbox.sqlite", "outbox.sqlite-wal", "outbox.sqlite-shm", "outbox.end"):
        (place.output / name).unlink(missing_ok=True)
    again = place.run(spark)
    assert everything(place) == (told, undecided)
    assert again.work.operator_calls == 0
