"""Notifications as files at an address: each has the lines of a range of sequences, and is put whole, under one name.

The range is in the journal before its file is put, and that it was put after. So whoever goes on puts what was planned
again, the same bytes under the same name.

A mark at the address has whose it is and the run's own name, and is looked at before each file: so of two folders, or
of a folder and its copy, one ends.
"""

from __future__ import annotations

import re
import secrets
import time
from io import BytesIO
from math import inf
from pathlib import Path

from triplecast.crash_points import reach
from triplecast.errors import InputError, StorageFault
from triplecast.journal import Journal
from triplecast.model.operators import NO_OPERATORS
from triplecast.outbox import Definitions, Outbox
from triplecast.pipeline.object_store import ObjectStore, is_address, shown

PLANNED = "output files "
"""With an address, the setting that has how far its files go: whose they are, the outbox's epoch, the last sequence
that was put, that of the file being put, and the runs that the mark may name."""
FILE_BYTES = 16 << 20
"""Of lines, after which a file ends."""
FILE_SECONDS = 1.0
"""Least time between two files, so that they are not many and small."""
_NAME = re.compile(r"notifications-([0-9a-f]{12})-[0-9]{15}-([0-9]{15})\.jsonl")
_MARK = "_notifications"
_ANEW = "name another address with --output: all that is recorded is put there"


def choose_folder(output: Path | str, folder: Path | str | None, inbox: Path | str | None) -> Path:
    """Return what holds journal, index and outbox: the output, or a folder beside an address. Raises InputError."""
    if is_address(output) and folder is None:
        problem = f"the output {shown(str(output))} is an address, where no journal and no index can be kept"
        raise InputError(problem, "name a folder of this machine for them with --folder")
    if not is_address(output) and folder is not None:
        raise InputError(f"the output {output} is a folder, and --folder names another", "leave one of them out")
    place = Path(output if folder is None else folder)
    for option, each in (("--output", output), ("--folder", folder)):
        if None not in (each, inbox) and f"{_resolved(each)}/".startswith(f"{_resolved(inbox)}/"):
            problem = f"{shown(str(each))} is in the inbox {shown(str(inbox))}, where it would be read as documents"
            raise InputError(problem, f"name another place with {option}")
    return place


def _resolved(place: object) -> str:
    """What names a place, be it by a path or by an address."""
    text = str(place).removeprefix("file://")
    return shown(text) if is_address(text) else str(Path(text).resolve())


class OutputFiles:
    """The files of one folder's outbox at one address. One thread calls `look` again and again."""

    def __init__(self, address: str, journal: Journal) -> None:
        """Raises InputError for an address that cannot be or is another outbox's, StorageFault for an older copy."""
        self._store, self._journal = ObjectStore(address), journal
        self._outbox = Outbox.read_only(Path(journal.where).parent)
        self._setting = PLANNED + shown(address)
        self._epoch, self._put_at = self._outbox.state.epoch, -inf
        noted = journal.settings().get(self._setting, f"{secrets.token_hex(6)} {self._epoch} 0 0").split()
        (self._own, *_), self._run = noted, secrets.token_hex(6)
        self._of, self._reached, self._planned = map(int, noted[1:4])
        self._claim(noted[4:])

    def close(self) -> None:
        self._outbox.close()

    def is_behind(self) -> bool:
        return self._reached < max(self._planned, self._outbox.state.sequence)

    def look(self) -> bool:
        """Put the next file, if there is anything for one, and return whether there was. Raises StorageFault."""
        if not self.is_behind() or time.monotonic() - self._put_at < FILE_SECONDS:
            return False
        if self._marked() != f"{self._own} {self._run}":
            self._claim([])
        planned = self._planned if self._planned > self._reached else inf
        lines, last = self._read(planned, FILE_BYTES if planned == inf else inf)
        if planned == inf:
            self._note(self._reached, last or self._outbox.state.pruned)
            reach("output.planned")
        name = f"notifications-{self._own}-{self._reached + 1:015}-{self._planned:015}.jsonl"
        if planned == inf or self._store.state(name) is None:  # else it is whole, with what was pruned since
            self._store.write(name, lines)
        reach("output.put")
        self._note(self._planned, self._planned)
        self._put_at = time.monotonic()
        return True

    def _read(self, upto: float, most: float) -> tuple[bytes, int]:
        """The next lines, up to a sequence, up to so many bytes, and the last sequence; 0 where there is none."""
        definitions = Definitions(self._journal.registrations, NO_OPERATORS.with_recorded(self._journal.operators()))
        lines, last = BytesIO(), 0
        for each in self._outbox.json_rows(self._reached, definitions=definitions):
            if each.cursor.sequence > upto or lines.tell() >= most:
                break
            lines.write(each.line.encode() + b"\n")
            last = each.cursor.sequence
        return lines.getvalue(), last

    def _claim(self, known: list[str]) -> None:
        """Have the mark name this run, in place of none or one of those `known`."""
        where, (own, _, run) = shown(self._store.address), (self._marked() or self._own).partition(" ")
        found = [match for each in self._store.list() if (match := _NAME.fullmatch("/".join(each.path)))]
        if self._of != self._epoch or own != self._own or any(match[1] != self._own for match in found):
            raise InputError(f"the output {where} has the notifications of another outbox", _ANEW)
        if run not in ("", *known) or any(int(match[2]) > self._planned for match in found):
            problem = "this is an older copy of the folder that puts files there, or a copy of it runs"
            raise StorageFault(where, problem, f"end one and delete {_MARK} there, or {_ANEW}")
        self._note(self._reached, self._planned, run)
        self._store.write(_MARK, f"{self._own} {self._run}".encode())

    def _marked(self) -> str:
        """Whose the mark is, and the run that it names; nothing where it is not there."""
        mark = BytesIO()
        if self._store.state(_MARK) is not None:
            self._store.copy_to(_MARK, mark)
        return mark.getvalue().decode(errors="replace")

    def _note(self, reached: int, planned: int, *runs: str) -> None:
        noted = self._own, self._epoch, reached, planned, self._run, *runs
        self._journal.set_setting(self._setting, " ".join(map(str, noted)))
        self._reached, self._planned = reached, planned
