"""The sink: rows and progress together, replays add nothing, gaps are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from tests.unit.pipeline.batches import random_batch, rows_of
from triplecast.driver import Driver
from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.model.match import MatchStats
from triplecast.model.open_rows import PairReason
from triplecast.model.subscription import Subscription
from triplecast.outbox import Outbox, OutboxBatch, UndecidedPair
from triplecast.pipeline import sink as sink_module
from triplecast.pipeline.rows import MATCHES, to_arrow
from triplecast.pipeline.sink import Matched, Sink, check_cover


def make_sink(outbox: Outbox, tell: Callable[[UndecidedPair | str], None] = lambda notice: None) -> Sink:
    journal = Journal.in_memory()
    journal.subscribe([Subscription(f"s{number}", "ASK {}") for number in range(1, 100)])
    return Sink(Driver(journal, outbox), outbox, lambda publications, rows, seconds: None, tell)


def table(*pieces: tuple[OutboxBatch, int, int]) -> pa.Table:
    batches = [to_arrow(batch, after, upto, MatchStats(len(batch.publications))) for batch, after, upto in pieces]
    return pa.Table.from_batches(batches, MATCHES)


def test_slices_in_any_order_are_committed_in_order_of_position() -> None:
    first, second = random_batch(1, first=1), random_batch(2, first=30)
    with Outbox.in_memory() as outbox:
        sink = make_sink(outbox)
        sink.take(lambda: table((second, 24, 60), (first, 0, 24)))
        expected = rows_of(first, second)
        assert [(row.publication, row.registration) for row in outbox.notifications()] == [
            (row[1], row[4]) for row in expected
        ]
        assert outbox.progress == 60
        assert (sink.matched.publications, sink.matched.matches) == (24, len(expected))


def test_a_replay_adds_nothing_and_one_that_differs_is_reported() -> None:
    batch = random_batch(1)
    with Outbox.in_memory() as outbox:
        sink = make_sink(outbox)
        sink.take(lambda: table((batch, 0, 24)))
        before = list(outbox.notifications())
        sink.take(lambda: table((batch, 0, 24)))
        assert list(outbox.notifications()) == before
        assert sink.matched.matches == len(before)
        with pytest.raises(StorageFault, match="a replay gave other matches"):
            sink.take(lambda: table((random_batch(2), 0, 24)))
        assert list(outbox.notifications()) == before
        assert isinstance(sink.failure, StorageFault)


def test_a_replay_without_a_publication_that_was_told_of_is_reported() -> None:
    with Outbox.in_memory() as outbox:
        sink = make_sink(outbox)
        sink.take(lambda: table((random_batch(1), 0, 24)))
        told = list(outbox.notifications())
        with pytest.raises(StorageFault, match="a replay gave other matches"):
            sink.take(lambda: table((OutboxBatch.joined(()), 0, 24)))
        assert list(outbox.notifications()) == told


def test_what_another_version_of_an_operator_told_stands() -> None:
    """A later attempt at the same pairs finds other matches then, which is no fault (decision 12)."""
    settled, then = random_batch(1), random_batch(2)
    pairs = tuple(PairReason(row.position, row.registration) for row in settled.rows())
    first = replace(OutboxBatch.joined(()), publications=settled.publications, awaited=pairs)
    with Outbox.in_memory() as outbox:
        sink = make_sink(outbox)
        sink.take(lambda: table((first, 0, 24)))
        assert list(outbox.notifications()) == []
        sink.settle(lambda: table((settled, 0, 24)))
        told = list(outbox.notifications())
        assert len(told) == len(pairs) > 0
        sink.settle(lambda: table((then, 0, 24)))
        assert list(outbox.notifications()) == told
        with pytest.raises(StorageFault, match="a replay gave other matches") as raised:
            sink.take(lambda: table((then, 0, 24)))
        assert "report it to the authors" in str(raised.value)


def test_undecided_pairs_are_told_once_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module, "REPORTED_PAIRS", 2)
    told: list[UndecidedPair | str] = []
    pairs = tuple(PairReason(1, registration, "out of steps") for registration in (3, 5, 8))
    batch = replace(random_batch(1), undecided=pairs)
    with Outbox.in_memory() as outbox:
        sink = make_sink(outbox, told.append)
        for _ in range(2):
            sink.take(lambda: table((batch, 0, 24)))
        assert sink.matched.undecided == 3
    assert [pair.registration for pair in told if isinstance(pair, UndecidedPair)] == [3, 5]
    assert told[2:] == ["and 1 more undecided pairs; `triplecast notifications --undecided` lists them"]


def test_waiting_for_documents_is_no_matching() -> None:
    matched = Matched()
    for began, ended in ((10.0, 12.0), (12.5, 13.0), (100.0, 101.0)):
        matched.count_batch(began, ended)
    assert (matched.seconds, matched.batches) == (4.0, 3)


def test_ranges_must_leave_no_gap() -> None:
    def rows(*ranges: tuple[int, int]) -> list[dict[str, int]]:
        return [{"after": after, "upto": upto} for after, upto in ranges]

    assert check_cover(rows((5, 9), (0, 5), (5, 9)), 0) == (0, 9)
    assert check_cover(rows((5, 9)), 7) == (5, 9)
    with pytest.raises(ValueError, match="positions 6 to 7"):
        check_cover(rows((0, 5), (7, 9)), 0)
    with pytest.raises(ValueError, match="only to 3"):
        check_cover(rows((4, 9)), 3)
