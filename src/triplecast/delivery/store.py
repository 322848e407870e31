"""The targets of a folder and their dead letters: the file ``delivery/delivery.sqlite``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, get_type_hints

from triplecast.delivery.target import DAMAGED, DeadLetter, Target
from triplecast.sqlite import Format, SqliteFile

FOLDER = "delivery"
"""In the folder that is delivered from; it is the deliverer's alone, with a lock of its own."""
DATABASE = "delivery.sqlite"
MOST_DEAD = 10_000
"""Dead letters of a target, with which it is disabled."""
_TARGET = tuple(each.name for each in fields(Target))
_DEAD = DeadLetter._fields
_STORED = {bool: int, float: int | float}
_TARGET_TYPES, _DEAD_TYPES = (
    [_STORED.get(hint, hint) for hint in get_type_hints(kind).values()] for kind in (Target, DeadLetter)
)
_FORMAT = Format(
    0x54524431,
    1,
    f"""CREATE TABLE target ({", ".join(_TARGET)}, PRIMARY KEY (id)) WITHOUT ROWID;
CREATE TABLE dead ({", ".join(_DEAD)}, PRIMARY KEY (target, sequence)) WITHOUT ROWID;
CREATE TABLE reached (epoch, sequence);
INSERT INTO reached VALUES (0, 0)""",
    repair="restore the folder delivery from a copy, or delete it and add its targets again",
)


class TargetStore:
    """Rows as values. Methods raise `StorageFault` and may be called from any thread."""

    def __init__(self, database: SqliteFile) -> None:
        self._database = database

    @staticmethod
    def writer(folder: Path) -> TargetStore:
        """Of the deliverer, which holds the lock of `folder`."""
        store = TargetStore(SqliteFile.writer(folder / DATABASE, _FORMAT))
        (folder / DATABASE).chmod(0o600)  # it has secrets
        return store

    def close(self) -> None:
        self._database.close()

    def targets(self) -> list[Target]:
        names = ", ".join(_TARGET)
        rows = self._database.ask(f"SELECT {names} FROM target ORDER BY created_at, id")
        return [_read_target(row) for row in rows]

    def reached(self) -> tuple[int, int]:
        """The epoch and sequence up to which idle targets have everything; of no epoch where that is damaged, so that
        all is read again."""
        rows = self._database.ask("SELECT epoch, sequence FROM reached")
        epoch, sequence = rows[0] if rows else (0, 0)
        return (epoch, sequence) if isinstance(epoch, int) and isinstance(sequence, int) else (0, 0)

    def dead(self, target: str | None = None, again: bool = False, limit: int = -1) -> list[DeadLetter]:
        """Dead letters of a target, or of all; with `again` only those that are to be delivered again."""
        which = "WHERE (?1 IS NULL OR target = ?1) AND again >= ?2 ORDER BY target, sequence LIMIT ?3"
        rows = self._database.ask(f"SELECT {', '.join(_DEAD)} FROM dead {which}", (target, int(again), limit))
        return [DeadLetter(*row) for row in rows if not _wrong(row, _DEAD, _DEAD_TYPES)]

    def count_dead(self, target: str) -> int:
        return int(self._database.ask_one("SELECT count(*) FROM dead WHERE target = ?", (target,))[0])

    @contextmanager
    def write(self, synced: bool) -> Iterator[None]:
        """One transaction. One that is not synced may be lost with the machine: then what it says is delivered again,
        under the same ids."""
        with self._database.write(synced):
            yield

    def save(self, targets: Iterable[Target]) -> None:
        places = ", ".join("?" * len(_TARGET))
        self._database.run(f"INSERT OR REPLACE INTO target VALUES ({places})", map(astuple, targets))

    def save_reached(self, epoch: int, sequence: int) -> None:
        self._database.run("UPDATE reached SET epoch = ?, sequence = ?", [(epoch, sequence)])

    def remove(self, ids: Iterable[str]) -> None:
        gone = [(id,) for id in ids]
        self._database.run("DELETE FROM target WHERE id = ?", gone)
        self._database.run("DELETE FROM dead WHERE target = ?", gone)

    def bury(self, letters: Iterable[DeadLetter]) -> None:
        self._database.run(f"INSERT OR REPLACE INTO dead VALUES ({', '.join('?' * len(_DEAD))})", letters)

    def forget(self, letters: Iterable[DeadLetter]) -> None:
        """Of letters that were delivered after all."""
        rows = [(each.target, each.sequence) for each in letters]
        self._database.run("DELETE FROM dead WHERE target = ? AND sequence = ?", rows)


def _read_target(row: Sequence[object]) -> Target:
    """A row of other types is a target that is `DAMAGED`, and named by what is wrong with it."""
    if not (wrong := _wrong(row, _TARGET, _TARGET_TYPES)):
        return Target(**dict(zip(_TARGET, row, strict=True)))  # type: ignore[arg-type]
    id, subscription = (str(row[_TARGET.index(name)]) for name in ("id", "subscription"))
    reason = f"its row in {DATABASE} is damaged ({', '.join(wrong)}); remove it and add it again"
    return Target(id, subscription, 0, "", DAMAGED, "", "", 0.0, "", None, 0, 0, 0, 0, idle=False, disabled=reason)


def _wrong(row: Sequence[object], names: Sequence[str], types: Sequence[Any]) -> list[str]:
    """The columns whose values are of other types."""
    return [name for name, value, kind in zip(names, row, types, strict=True) if not isinstance(value, kind)]
