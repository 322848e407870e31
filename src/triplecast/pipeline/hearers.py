"""What registrations want to hear, as a file beside a snapshot, for workers that cannot read the journal.

Nearly all want to hear what changed and have no key; the file has the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from triplecast.index.snapshot import read_checked, read_numbers, seal_checked, write_numbers
from triplecast.journal import Journal
from triplecast.kernels.layout import I64
from triplecast.model.subscription import CHANGED, NOTIFY, UPDATES, Registration, RegistrationId, Subscription
from triplecast.registry.upkeep import AT_ONCE

HEARERS = "hearers"
"""The folder of these files."""


class HearersWriter:
    """Follows a journal's registry."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._covers = 0
        self._written = ("", b"")
        self._heard: list[str] = []
        self._modes: dict[str, list[int]] = {each: [] for each in NOTIFY if each != CHANGED}
        self._keyed: dict[int, Subscription] = {}
        """Those that have a key, whose text may have conditions of an update."""

    def write(self, covers: int) -> tuple[str, bytes]:
        """Name and content of the file of a snapshot; the name is another where the content is."""
        changed = not self._written[0]
        for (added, _), _ in self._journal.registry_slices(self._covers, covers, AT_ONCE):
            for each in added:
                changed = self._note(int(each.id), each.subscription) or changed
        self._covers = max(self._covers, covers)
        heard = [each for each in (*NOTIFY, UPDATES) if self._journal.has_hearers(each)]
        if changed or heard != self._heard:
            self._heard = heard
            content = {
                "heard": heard,
                "modes": {mode: write_numbers(np.array(ids, np.int64)) for mode, ids in self._modes.items()},
                "keyed": [(id, asdict(each)) for id, each in self._keyed.items()],
            }
            self._written = f"{HEARERS}/{HEARERS}-{covers:010}-{len(heard)}.json", seal_checked(content)
        return self._written

    def _note(self, id: int, subscription: Subscription) -> bool:
        """Whether it is of those that are written."""
        if subscription.hears != CHANGED:
            self._modes[subscription.hears].append(id)
        if subscription.key:
            self._keyed[id] = subscription
        return subscription.hears != CHANGED or bool(subscription.key)


class CarriedHearers:
    """The file, read."""

    def __init__(self, path: Path) -> None:
        """Raises `StorageFault` for a damaged one."""
        content = read_checked(path)
        self.heard = frozenset(content["heard"])
        self._modes: Mapping[str, I64] = {mode: read_numbers(ids) for mode, ids in content["modes"].items()}
        self._keyed = {id: _subscription(each) for id, each in content["keyed"]}

    def notify_with(self, positions: Sequence[int]) -> list[tuple[int, list[str], Mapping[int, tuple[str, ...]]]]:
        """As `Records.notify_with`, each registration by itself."""
        wanted = np.array(positions, np.int64)
        words = np.full(len(wanted), CHANGED, dtype="<U8")
        for mode, ids in self._modes.items():
            words[np.isin(wanted, ids)] = mode
        return [
            (id, [word], {id: self._keyed[id].key} if id in self._keyed else {})
            for id, word in zip(positions, words.tolist(), strict=True)
        ]

    def registrations_at(self, positions: Sequence[int]) -> list[Registration]:
        """As `Records.registrations_at`, of those that have a key."""
        return [Registration(RegistrationId(id), self._keyed[id]) for id in positions]


@lru_cache(maxsize=2)
def read_hearers(path: Path) -> CarriedHearers:
    """Read a file, once in a process while it is in use; its name tells its content."""
    return CarriedHearers(path)


def _subscription(written: Mapping[str, Any]) -> Subscription:
    return Subscription(**{**written, "key": tuple(written["key"])})
