"""What is decided without operators is told before they are asked; a kill in between tells the same in the end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from tests.unit.journal.journal_samples import run_and_crash
from triplecast.engine import Engine
from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.model.match import ANSWER_LIMITS, AnswerLimits
from triplecast.model.operators import OperatorSet
from triplecast.operators.asking.workers import Performed, Performer
from triplecast.operators.messages import PublicationCall
from triplecast.outbox import OutboxReader

assert wild_operators
P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
QUERIES = {
    "cheap": "ASK { ?p a :Picture }",
    "asking": "SELECT ?n { ?p a :Picture ; :title ?t BIND(w:lengths(?t) AS ?n) }",
    "sometimes": "ASK { ?p :ok ?ok ; :title ?t FILTER(?ok || w:long(?t)) }",
    "counted": "SELECT (COUNT(?l) AS ?n) { ?p :title ?t . ?t w:letters ?l } GROUP BY ?p",
    "raises": "ASK { ?p a :Picture FILTER(w:raises(?p)) }",
}


def documents() -> list[Document]:
    """The first and the third are decided for `sometimes` without an operator, the second is not."""
    texts = [
        f'@prefix : <https://example.org/> . <urn:p{n}> a :Picture ; :title "title{n}" ; :ok {ok} .'
        for n, ok in enumerate(("true", "false", "true", "false"))
    ]
    return [Document(f"d{n}", text.encode(), "text/turtle", f"urn:g{n}") for n, text in enumerate(texts)]


def told(outbox: OutboxReader | Engine) -> list[tuple[str, str, str]]:
    return [(each.subscription, each.publication, each.json) for each in outbox.notifications()]


class Watched(Performer):
    """Notes what another process would see of the outbox when operators are asked."""

    def __init__(self, folder: Path, operators: OperatorSet) -> None:
        super().__init__(operators)
        self.folder = folder
        self.seen: list[list[str]] = []

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        with OutboxReader.read_only(self.folder) as outbox:
            self.seen.append([name for name, _, _ in told(outbox)])
            assert outbox.progress < outbox.told
        return super().perform(asked)


def test_the_decided_are_visible_before_an_operator_is_asked(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        for name, text in QUERIES.items():
            engine.subscribe(P + text, id=name)
        watched = engine._asker.performer = Watched(tmp_path, engine._operators)
        receipts = engine.publish_many(documents())
        assert sorted({name for receipt in receipts for name in (match.subscription for match in receipt.matches)}) == [
            "asking",
            "cheap",
            "counted",
            "sometimes",
        ]
    assert watched.seen[0] == ["cheap", "sometimes", "cheap", "cheap", "cheap"]
    assert all(seen == watched.seen[0] for seen in watched.seen)
    with OutboxReader.read_only(tmp_path) as outbox:
        outbox.check()
        assert len(told(outbox)) == 4 + 4 + 4 + 4
        assert len(outbox.undecided()) == 4


def test_a_group_in_pieces_tells_what_it_tells_whole() -> None:
    """A piece is of one publication here: each is committed and settled from where the one before ended."""
    found = []
    for limits in (ANSWER_LIMITS, AnswerLimits(pairs=1)):
        with Engine() as engine:
            for name, text in QUERIES.items():
                engine.subscribe(P + text, id=name)
            engine._matcher.limits = limits
            receipts = engine.publish_many(documents())
            found.append((told(engine), [each[1:] for each in engine.undecided()]))
            found[-1] += ([[match.subscription for match in receipt.matches] for receipt in receipts],)
    assert sorted(found[0][0]) == sorted(found[1][0])
    assert found[0][1:] == found[1][1:]


class Copying(Watched):
    """Copies the outbox and its end mark before operators are asked."""

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        for path in self.folder.glob("outbox.*"):
            shutil.copy(path, self.folder / f"older-{path.name}")
        return super().perform(asked)


def test_a_copy_from_before_pairs_were_settled_is_noticed_as_older(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(P + QUERIES["asking"], id="asking")
        engine._asker.performer = Copying(tmp_path, engine._operators)
        engine.publish_many(documents()[:1])
        (last,) = engine.notifications()
    for path in tmp_path.glob("older-*"):
        path.rename(tmp_path / path.name.removeprefix("older-"))
    with Engine.open(tmp_path) as engine:
        with pytest.raises(InputError, match="notifications were lost since"):
            list(engine.notifications(last.cursor))
        assert [each.id for each in engine.notifications()] == [last.id]


RUN = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1] / "operators")!r}]
from test_told_first import P, QUERIES, documents
from triplecast.engine import Engine
with Engine.open(sys.argv[1]) as engine:
    if not list(engine.subscriptions()):
        from triplecast import Subscription
        engine.subscribe_many([Subscription(name, P + text) for name, text in QUERIES.items()])
    for document in documents():
        engine.publish_many([document])
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["outbox.some-wait", "journal.results-kept", "outbox.rows-written"])
def test_a_kill_between_the_halves_tells_the_same(tmp_path: Path, point: str) -> None:
    plain, killed = tmp_path / "plain", tmp_path / "killed"
    assert not run_and_crash(RUN, plain, "index.segment-written", 99, tmp_path / "log")
    deaths = sum(run_and_crash(RUN, killed, point, hit, tmp_path / "log") for hit in (1, 2))
    assert deaths == 2
    assert not run_and_crash(RUN, killed, point, 99, tmp_path / "log")
    with OutboxReader.read_only(plain) as expected, OutboxReader.read_only(killed) as found:
        found.check()
        assert sorted(told(found)) == sorted(told(expected))
        assert {each.id for each in found.notifications()} == {each.id for each in expected.notifications()}
        assert found.undecided() == expected.undecided()
        for name in QUERIES:
            assert [row for row in told(found) if row[0] == name] == [row for row in told(expected) if row[0] == name]
