"""Which commits wait for the sync of a later one."""

from __future__ import annotations

from pathlib import Path

import pytest
from outbox_samples import batch, names

from triplecast.outbox import Outbox, OutboxBatch


@pytest.mark.parametrize(
    ("given", "waits"),
    [
        (batch([(3, 1, "[{}]")]), True),
        (batch([]), True),
        (batch([(3, 1, "[{}]")], undecided=[(3, 2, "why")]), False),
        (batch([(3, 1, "[{}]")], awaited=[(3, 2)]), False),
    ],
)
def test_what_another_time_may_decide_otherwise_is_synced(tmp_path: Path, given: OutboxBatch, waits: bool) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(given, 3, names, replayed=True)
        assert outbox.told == 3
        assert (outbox.durable.told == 0) is waits
        outbox.commit(batch([(4, 1, "[{}]")]), 4, names)
        assert outbox.durable.told == 4


def test_nothing_to_record_goes_past_no_pending_pair_and_no_difference(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(batch([(3, 1, "[{}]")]), 3, names, replayed=True)
        assert outbox.commit(batch([]), 3, names, after=2, replayed=True).differing == (3,)
        outbox.commit(batch([], awaited=[(4, 2)]), 4, names, replayed=True)
        outbox.commit(batch([]), 5, names, replayed=True)
        assert (outbox.state.told, outbox.state.progress) == (5, 3)
