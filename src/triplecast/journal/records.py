"""Reading the rows of a journal: each verified, and none passed over unseen."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from triplecast.end_mark import read_end_mark
from triplecast.errors import StorageFault
from triplecast.journal.check import RESTORE
from triplecast.journal.record import Kind, Row, verify, verify_row
from triplecast.sqlite import SqliteFile

DATABASE = "journal.sqlite"
END = "journal.end"
KEYS_AT_ONCE = 500
"""Keys that one statement looks up."""


class Records:
    """The records up to now, each verified by its checksum as it is read.

    Whatever a statement sees is whole commits. Methods may be called from any thread; they raise `StorageFault` for a
    damaged record. While there is no journal yet, it reads as an empty one.
    """

    def __init__(self, database: SqliteFile) -> None:
        self._database = database
        self.where = database.where
        """The file's path; ``memory`` where there is none."""

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> int:
        """Return the last position written; 0 when nothing is."""
        rows = self._database.ask("SELECT max(position) FROM record")
        return int(rows[0][0] or 0) if rows else 0

    def last_record(self) -> int:
        """Return `head`, by a record that is verified: a damaged number would be where the next one is written."""
        last = self._rows("SELECT * FROM record ORDER BY position DESC LIMIT 1")
        return max((row.position for row in last), default=0)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _rows(self, statement: str, values: Sequence[object] = (), kinds: Container[int] | None = None) -> list[Row]:
        """The rows of a statement; `kinds` are those that a partial index may lead to, which SQLite does not check."""
        where = self._database.where
        rows = [verify_row(fields, where) for fields in self._database.ask(statement, values)]
        for row in rows:
            if kinds is not None and row.kind not in kinds:
                raise StorageFault(where, f"record {row.position} is not what an index of the file says", RESTORE)
        return rows

    def _counted(self, kind: int) -> int:
        """How many records of one of the `COUNTED` kinds there are."""
        for records, crc in self._database.ask("SELECT records, crc FROM record_count WHERE kind = ?", (int(kind),)):
            verify(crc, self.where, f"the count of records of kind {kind:d}", "", (int(kind), records))
            return int(records)
        return 0

    def _check_count(self, positions: Sequence[int], *kinds: Kind) -> None:
        """Raises `StorageFault` unless these, ascending, are the positions of all records of `kinds`, each once."""
        self._refuse_twice(positions)
        self._check_found(len(positions), *kinds)

    def _refuse_twice(self, positions: Sequence[int]) -> None:
        for position, following in pairwise(positions):
            if position == following:
                raise StorageFault(self.where, f"an index of the file leads to record {position} twice", RESTORE)

    def _check_found(self, found: int, *kinds: Kind) -> None:
        """Raises `StorageFault` unless there are so many records of `kinds`."""
        counted = sum(map(self._counted, kinds))
        if found != counted:
            names = ", ".join(kind.name.lower().replace("_", " ") for kind in kinds)
            told = f"it holds {counted} records of kind {names}, of which {found} can be found"
            raise StorageFault(self.where, told, RESTORE)

    def _ask_in(self, statement: str, keys: Sequence[object]) -> list[Any]:
        """The rows of a statement, which ends with a column, whose column is one of `keys`; `KEYS_AT_ONCE` a query."""
        rows: list[Any] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            rows += self._database.ask(f"{statement} IN ({','.join('?' * len(some))})", some)
        return rows


def acknowledged(folder: Path) -> int:
    """Return the position up to which the end mark of the journal in `folder` says that records were committed."""
    numbers = read_end_mark(folder / END)
    return numbers[0] if numbers else 0
