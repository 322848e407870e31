"""How far the journal was acknowledged, told beside it: what its write-ahead log loses, SQLite does not miss.

SQLite takes a write-ahead log up to its first damaged frame, so a journal whose log was cut, damaged or left behind
in a copy reads as one that never had more. The mark is the position of the last record that was committed, written
after each commit in a file of its own and not synced: so it is never beyond what is durable and costs a system call,
and it tells everything but damage to the log that comes together with a power failure.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from triplecast.errors import StorageFault

FILE = "journal.end"


class EndMark:
    """The writer's mark: a file that takes the place of an earlier writer's, which then marks what nobody reads."""

    def __init__(self, folder: Path, position: int) -> None:
        self._descriptor = -1
        with suppress(OSError):
            new = folder / f"{FILE}.{os.urandom(4).hex()}"
            self._descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            self.set(position)
            os.replace(new, folder / FILE)

    def set(self, position: int) -> None:
        """Where nothing can be written the mark stays behind, which says less and nothing wrong."""
        with suppress(OSError):
            os.pwrite(self._descriptor, _line(position), 0)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_end_mark(folder: Path) -> int:
    """The position up to which records were committed; 0 where there is no mark, or one that is damaged."""
    try:
        line = (folder / FILE).read_bytes()
    except OSError:
        return 0
    digits = line[:20]
    return int(digits) if digits.isdigit() and line == _line(int(digits)) else 0


def check_end(journal: Path, head: int, mark: int) -> None:
    """Raises `StorageFault` where the journal ends before a record that was acknowledged."""
    if head < mark:
        found = f"it ends at position {head}, but {mark} was acknowledged: its write-ahead log has lost its end"
        hint = f"restore the folder from a copy; if it was put back to this older state on purpose, delete {FILE}"
        raise StorageFault(str(journal), found, hint)


def _line(position: int) -> bytes:
    digits = b"%020d" % position
    return b"%b %08x\n" % (digits, zlib.crc32(digits))
