"""What has come of targets and is to be stored, in one transaction for all."""

from __future__ import annotations

from collections.abc import Iterable

from triplecast.crash_points import reach
from triplecast.delivery.store import TargetStore
from triplecast.delivery.target import DAMAGED, DeadLetter, Target


class Ledger:
    """Not thread-safe: `Deliveries` holds its lock."""

    def __init__(self, store: TargetStore) -> None:
        self._store = store
        self.reached = store.reached()
        """As stored: the epoch and sequence up to which idle targets have everything."""
        self._targets: dict[str, Target] = {}
        self._removed: set[str] = set()
        self._letters: dict[tuple[str, int], DeadLetter] = {}
        self._forgotten: dict[tuple[str, int], DeadLetter] = {}
        self.is_urgent = False
        """Whether something is to be stored that not even a failing machine may undo."""

    def note(self, target: Target) -> None:
        if target.kind != DAMAGED:  # its row stays as it is
            self._targets[target.id] = target

    def remove(self, id: str) -> None:
        self._targets.pop(id, None)
        self._removed.add(id)
        self.is_urgent = True

    def bury(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            self._letters[letter.target, letter.sequence] = letter
            self._forgotten.pop((letter.target, letter.sequence), None)

    def forget(self, letter: DeadLetter) -> None:
        self._forgotten[letter.target, letter.sequence] = letter
        self._letters.pop((letter.target, letter.sequence), None)

    def flush(self, reached: tuple[int, int]) -> None:
        """Store it. Raises `StorageFault`, and keeps it."""
        if not (self._targets or self._removed or self._letters or self._forgotten or reached != self.reached):
            return
        with self._store.write(self.is_urgent):
            self._store.remove(sorted(self._removed))
            self._store.forget(self._forgotten.values())
            self._store.bury(each for each in self._letters.values() if each.target not in self._removed)
            self._store.save(self._targets.values())
            self._store.save_reached(*reached)
            reach("delivery.noted")
        reach("delivery.committed")
        self.reached, self.is_urgent = reached, False
        for noted in (self._targets, self._removed, self._letters, self._forgotten):
            noted.clear()
