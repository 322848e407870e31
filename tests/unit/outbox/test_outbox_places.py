"""Places in an outbox by time, its last notifications and its rows one by one, against what reading all of it says."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace

import pytest
from outbox_samples import batch, names

from triplecast.outbox import Outbox, OutboxBatch
from triplecast.outbox.recent_rows import RecentRows, WantedRows

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def accepted_at(position: int) -> str:
    """Several publications share a time."""
    return f"2026-11-24T08:00:{position // 3:02d}.000000Z"


def timed(given: OutboxBatch) -> OutboxBatch:
    names = tuple(each._replace(accepted_at=accepted_at(each.position)) for each in given.publications)
    return replace(given, publications=names)


def random_outbox(rng: random.Random) -> Outbox:
    """With commits of some publications each, pairs settled late, and some notifications pruned."""
    outbox = Outbox.in_memory()
    position, waiting = 0, list[tuple[int, int]]()
    for _ in range(rng.randint(1, 40)):
        upto = position + rng.randint(1, 4)
        pairs = [(at, id) for at in range(position + 1, upto + 1) for id in range(1, 4) if rng.random() < 0.4]
        late = [pair for pair in pairs if rng.random() < 0.2]
        rows = [(at, id, f'[{{"n":"\\"{at}\\""}}]') for at, id in pairs if (at, id) not in late]
        outbox.commit(timed(batch(rows, awaited=late)), upto, names)
        waiting += late
        position = upto
        if waiting and rng.random() < 0.3:
            settled = [(at, id, "[{}]") for at, id in waiting if rng.random() < 0.8]
            outbox.settle(timed(batch(settled)), position, names)
            waiting = []
    if rng.random() < 0.3:
        outbox.prune(rng.randint(0, outbox.state.sequence))
    return outbox


@pytest.mark.parametrize("seed", range(SEED, SEED + 60))
def test_places_and_last_rows_are_those_of_all_rows(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/outbox/test_outbox_places.py"""
    rng = random.Random(seed)
    with random_outbox(rng) as outbox:
        every = [*outbox.notifications()]
        state = outbox.state
        for time in [accepted_at(3 * number) for number in range(0, 60, 3)] + ["0", "3"]:
            later = [each.sequence for each in every if each.accepted_at > time]
            found = outbox.sequence_at(time)
            assert found == min(later) - 1 if later else found >= max((each.sequence for each in every), default=0)
        for _ in range(20):
            registration, before = rng.choice((None, 1, 2, 3, 99)), rng.choice((None, rng.randint(0, 80)))
            wanted = [
                each
                for each in reversed(every)
                if registration in (None, each.registration) and (before is None or each.sequence < before)
            ]
            count = rng.randint(1, 12)
            assert outbox.latest(count, before, registration) == wanted[:count]
        lines = [*outbox.json_rows(rng.randint(0, state.sequence))]
        whole = "".join(text for _, text in outbox.json_lines()).splitlines()[len(every) - len(lines) :]
        assert [each.line for each in lines] == whole
        assert [(each.cursor, each.registration, each.subscription, each.owner) for each in lines] == [
            (each.cursor, each.registration, each.subscription, each.owner) for each in every[len(every) - len(lines) :]
        ]


@pytest.mark.parametrize("seed", range(SEED, SEED + 60))
def test_recent_rows_are_those_of_the_outbox_or_none(seed: int) -> None:
    """However few are kept: who asks for more than these is sent to the outbox, never given a part."""
    rng = random.Random(seed)
    with random_outbox(rng) as outbox:
        every = [*outbox.json_rows()]
        start = every[0].cursor if every else None
        if start is None:
            return
        kept = RecentRows(start, most_bytes=rng.choice((1, 2_000, 5_000, 1 << 20)))
        at = 1
        while at < len(every):
            some = every[at : at + rng.randint(1, 5)]
            kept.extend(some)
            at += len(some)
            assert kept.end == some[-1].cursor
            for _ in range(5):
                place = rng.choice(every[: at + 1]).cursor
                wanted = WantedRows(
                    rng.choice((None, "s1", "s2", "s9")),
                    rng.choice((None, "owner1", "owner3")),
                    rng.choice((None, 1, 2)),
                )
                expected = [each for each in every[:at] if each.cursor > place and wanted.takes(each)]
                found = kept.after(place, wanted)
                assert found is None or found == expected
                if place >= some[0].cursor:
                    assert found is not None or kept._most_bytes < sum(len(each.line) + 400 for each in some)
        assert kept.after(start._replace(epoch=start.epoch + 1), WantedRows()) is None
        assert kept._bytes <= max(kept._most_bytes, max((len(each.line) + 400 for each in kept._rows), default=0))


def test_a_gap_or_another_epoch_forgets_what_was_before() -> None:
    with Outbox.in_memory() as outbox:
        for position in range(1, 7):
            outbox.commit(batch([(position, 1, "[{}]")]), position, names)
        rows = [*outbox.json_rows()]
    assert [json.loads(each.line)["sequence"] for each in rows] == [1, 2, 3, 4, 5, 6]
    kept = RecentRows(rows[0].cursor)
    kept.extend(rows[1:3])
    kept.extend(rows[4:5])
    assert kept.after(rows[1].cursor, WantedRows()) is None
    assert kept.after(rows[3].cursor, WantedRows()) == [rows[4]]
    later = rows[5]._replace(cursor=rows[5].cursor._replace(epoch=9))
    kept.extend([later])
    assert kept.after(rows[3].cursor, WantedRows()) is None
    assert kept.after(later.cursor, WantedRows()) == []
