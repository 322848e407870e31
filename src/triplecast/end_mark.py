"""The end of a durable file as it was last committed, kept beside it: it shows what SQLite does not miss.

SQLite takes a write-ahead log up to its first damaged frame, so a database whose log was cut, damaged or left behind
in a copy reads as one that never had more. An end mark is a few numbers that never fall, written after each commit in a
file of its own and not synced: so it is never beyond what is durable, costs a system call, and shows every loss but
that of a damaged log together with a power failure.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import closing, suppress
from pathlib import Path

from triplecast.sqlite import Format, SqliteFile

_LINE = re.compile(rb"((?:[0-9]{20} )+)([0-9a-f]{8})\n")


class EndMark:
    """The writer's mark, always of as many numbers: its file takes the place of an earlier writer's, which then writes
    to a file that nobody reads."""

    def __init__(self, path: Path, *numbers: int) -> None:
        self._descriptor = -1
        with suppress(OSError):
            new = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
            self._descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self.set(*numbers)
            os.replace(new, path)

    def set(self, *numbers: int) -> None:
        """Write the numbers of the last commit; where that fails the mark stays behind, which shows less."""
        with suppress(OSError):
            os.pwrite(self._descriptor, _line(numbers), 0)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_end_mark(path: Path) -> tuple[int, ...]:
    """Return the numbers of the last commit; empty where there is no mark, or a damaged one."""
    try:
        line = path.read_bytes()
    except OSError:
        return ()
    found = _LINE.fullmatch(line)
    numbers = tuple(map(int, found[1].split())) if found else ()
    return numbers if line == _line(numbers) else ()


def has_content(path: Path) -> bool:
    """Return whether the file that a mark is of is there and not empty."""
    return path.exists() and path.stat().st_size > 0


def close_untouched(database: SqliteFile, path: Path, form: Format) -> None:
    """Close a file whose write-ahead log may be worth more than SQLite takes of it: the last connection that could
    write would move what is left of it to the file and delete it."""
    with closing(SqliteFile.follower(path, form)) as last:
        last.ask("SELECT 1")
        database.close()


def _line(numbers: tuple[int, ...]) -> bytes:
    digits = b"".join(b"%020d " % number for number in numbers)
    return b"%b%08x\n" % (digits, zlib.crc32(digits))
