"""Notifications of one subscription or owner: those that a reader of all would keep."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from outbox_samples import batch, named

from triplecast.errors import StorageFault
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.subscription import NamedRegistrations, Registration, RegistrationId, Subscription
from triplecast.outbox import Definitions, Outbox, chunk, chunks, reader

SEED = 20261122


def registrations(ids: Sequence[int]) -> list[Registration]:
    """Names that several registrations have had, owners that hold several, and some of nobody."""
    return [
        Registration(RegistrationId(id), Subscription(f"s{id % 5}", f"ASK {{ ?s ?p {id} }}", owner=OWNERS[id % 3]))
        for id in ids
    ]


def names(ids: Sequence[int]) -> list[NamedRegistrations]:
    return named(registrations(ids))


OWNERS = ("ada", "bob", None)


@pytest.mark.parametrize("number", range(20))
def test_a_filter_gives_what_a_reader_of_all_would_keep(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn outboxes, pages, places and limits."""
    random = Random(seed := SEED + number)
    monkeypatch.setattr(reader, "_PAGE_CHUNKS", random.randrange(1, 6))
    filtered = random.randrange(1, 9)
    for module in (reader, chunk):
        monkeypatch.setattr(module, "FILTERED", filtered)
    monkeypatch.setattr(chunks, "MERGED", random.randrange(2, 5))
    pairs = sorted({(random.randrange(1, 20), random.randrange(1, 12)) for _ in range(random.randrange(60))})
    with Outbox.open(tmp_path) as outbox:
        upto = 0
        while upto < 20:
            first, upto = upto, min(20, upto + random.randrange(1, 8))
            rows = [(position, id, "[{}]") for position, id in pairs if first < position <= upto]
            outbox.commit(batch(rows), upto, names)
        outbox.check()
        if pairs and random.random() < 0.5:
            outbox.prune(random.randrange(1, len(pairs) + 1))
        for _ in range(20):
            since, limit = random.randrange(len(pairs) + 1), random.choice((None, None, 1, 3, 7))
            name = random.choice((None, "s0", "s3", "s9"))
            owner = random.choice((None, "ada", "bob", "eve"))
            whole = [
                each
                for each in outbox.notifications(since)
                if name in (None, each.subscription) and owner in (None, each.owner)
            ]
            found = list(outbox.notifications(since, limit, name, owner, Definitions(registrations, NO_OPERATORS)))
            assert found == whole[:limit], (seed, since, limit, name, owner)
            assert [each.definition for each in found] == [
                registrations([each.registration])[0].subscription for each in found
            ], seed


@pytest.mark.parametrize("lost", ["chunk WHERE first = 3", "names WHERE last = 3"])
def test_what_is_missing_is_seen_by_a_reader_of_some_too(lost: str, tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        for id in range(1, 9):
            outbox.commit(batch([(id, id, "[{}]")]), id, names)
    with sqlite3.connect(tmp_path / "outbox.sqlite") as raw:
        raw.execute(f"DELETE FROM {lost}")
    with Outbox.read_only(tmp_path) as outbox, pytest.raises(StorageFault, match="is missing"):
        list(outbox.notifications(subscription="s1"))
