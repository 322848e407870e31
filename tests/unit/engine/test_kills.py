"""Some of ``python -m tests.kills`` (docs/testing.md): any number with ``make kills N=``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, TITLES, turtle

from tests.kills import RANDOM, run
from triplecast import Engine, FolderLocked, Subscription
from triplecast.journal import Journal


@pytest.mark.slow
def test_kills_and_stops_lose_bring_back_and_reuse_nothing(tmp_path: Path, seed: int) -> None:
    deaths = run(60, seed, tmp_path)
    assert {RANDOM, "journal.appended", "journal.committed", "index.segment-written", "outbox.rows-written"} <= {
        *deaths
    }
    assert any(death.startswith("stopped at") for death in deaths)


def test_an_engine_that_was_followed_writes_nothing(tmp_path: Path) -> None:
    old = Engine.open(tmp_path)
    old.subscribe(TITLES, id="rail")
    old.publish(turtle("A"), "text/turtle", "urn:a")
    with Engine.open(tmp_path, take_over=True) as new:
        new.subscribe(ANY_TITLE, id="any")
        before = list(new.notifications()), sorted(path.name for path in tmp_path.rglob("*"))
        for write in (
            lambda: old.publish(turtle("B"), "text/turtle", "urn:b"),
            lambda: old.subscribe(TITLES, id="late"),
            lambda: old.subscribe_many([Subscription("late", TITLES)]),
            lambda: old.unsubscribe("rail"),
            lambda: old.renew("rail"),
            lambda: old.remove("urn:a"),
            lambda: old.load_taxonomy("", "text/turtle"),
            lambda: old.prune(1),
            lambda: old.prune_undecided(1),
        ):
            with pytest.raises(FolderLocked, match="a later writer"):
                write()
        old.close()
        assert (list(new.notifications()), sorted(path.name for path in tmp_path.rglob("*"))) == before
        receipt = new.publish(turtle("B"), "text/turtle", "urn:b")
        assert [match.subscription for match in receipt.matches] == ["rail", "any"]


def test_no_lease_of_the_successor_is_told_by_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followed between its commit and its answer: the lease that it gave is over by the clock of the other one."""
    old = Engine.open(tmp_path, lambda: 1_800_000_000_000_000)
    read = Journal.lease_ends

    def followed(journal: Journal, ids: Sequence[int] | None = None) -> dict[int, int]:
        monkeypatch.undo()
        with Engine.open(tmp_path, lambda: 1_800_000_009_000_000, take_over=True) as new:
            assert list(new.subscriptions()) == []
        return read(journal, ids)

    monkeypatch.setattr(Journal, "lease_ends", followed)
    with pytest.raises(FolderLocked):
        old.subscribe(TITLES, id="rail", lease=5)
    old.close()


def test_a_publication_that_was_accepted_is_matched_by_the_successor_alone(tmp_path: Path) -> None:
    """The one before, which had accepted it and goes on to match it, is refused: once is told, not twice."""
    old = Engine.open(tmp_path)
    old.subscribe(TITLES, id="rail")
    old._journal.commit_documents([*_drafts(old)])
    with Engine.open(tmp_path, take_over=True) as new:
        assert [row.subscription for row in new.notifications()] == ["rail"]
        with pytest.raises(FolderLocked):
            old._match_accepted()
        assert [row.subscription for row in new.notifications()] == ["rail"]
    old.close()


def _drafts(engine: Engine) -> list[object]:
    from triplecast.ingest import Document

    (parsed,) = engine._parser.parse([Document("a", turtle("A").encode(), "text/turtle", "urn:a")])
    return list(parsed.drafts)
