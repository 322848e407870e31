"""Pages of live subscriptions: everyone once, none too large."""

from __future__ import annotations

from random import Random

import pytest

from triplecast.index import IndexWriter
from triplecast.journal import Journal
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.subscription import NO_END, Subscription
from triplecast.registry import listing
from triplecast.registry.admission import examine
from triplecast.registry.listing import read_page
from triplecast.registry.registry import Registry
from triplecast.registry.upkeep import IndexUpkeep

SEED = 20261122


@pytest.mark.parametrize("number", range(10))
def test_pages_are_bounded_by_size_and_hold_everybody_once(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn sizes of texts, ids and owners. Pages ended by rows alone: every test had short queries, so none saw ten
    long ones in one reply; one that draws sizes around the bound does."""
    random = Random(seed := SEED + number)
    most, limit = 400, random.choice((3, 1000))
    monkeypatch.setattr(listing, "PAGE_CHARACTERS", most)
    monkeypatch.setattr(listing, "_READ_AT_ONCE", random.choice((1, 2, 128)))
    wanted = [
        Subscription(
            f"{i}-" + "n" * random.choice((0, 0, 300)),
            f"ASK {{ ?s <a:b> {i} }}" + " " * random.choice((0, 50, most - 20, 3 * most)),
            owner=random.choice((None, "ada", "o" * 300)),
        )
        for i in range(30)
    ]
    largest = max(len(each.text) + len(each.name) + len(each.owner or "") for each in wanted)
    with Journal.in_memory() as journal:
        upkeep = IndexUpkeep(IndexWriter(), journal, lambda: 0)
        registry = Registry(journal, upkeep)
        registry.change("api", [examine(each) for each in wanted], lease=NO_END, tickets=True)
        for owner in (None, "ada"):
            seen, after = [], 0
            while after is not None:
                page = read_page(journal, NO_OPERATORS, 0, after, limit, owner)
                sizes = [len(each.text) + len(each.id) + len(each.owner or "") for each in page.subscriptions]
                assert sum(sizes) <= most + largest, seed
                assert len(sizes) <= limit, seed
                seen += [each.id for each in page.subscriptions]
                after = page.after
            assert seen == [each.name for each in wanted if owner in (None, each.owner)], seed
        upkeep.close()
