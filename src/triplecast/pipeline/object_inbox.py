"""An inbox at an address: each object there is a file, read once it has stayed the same for `QUIET` seconds.

Stores tell times in seconds: after that rest, whatever is written under the same name has another time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from triplecast.errors import InputError, StorageFault
from triplecast.ingest.arrivals import Arrivals
from triplecast.ingest.gate import GATE
from triplecast.ingest.inbox import LINES, QUIET, InboxFile, Look, Scan, is_known, source_of
from triplecast.ingest.inbox_files import DocumentGroup, read_groups
from triplecast.model.publication import FileState
from triplecast.pipeline.object_store import ObjectStore, StoredFile, shown

FETCHED_FILES, FETCHED_BYTES = 256, 64 << 20
"""Most files, and bytes unless one file has more, that are copied to this machine together."""


class ObjectInbox:
    """The objects below one address. It has the interface `Inbox` of the acceptor."""

    def __init__(self, address: str) -> None:
        """Raises InputError for an address that cannot be read."""
        self._store = ObjectStore(address)
        self.scan({}, {}, 0.0)

    def scan(self, known: Mapping[str, FileState], looks: Mapping[str, Look], now: float) -> Scan:
        """List all objects. Raises InputError where that fails."""
        try:
            found = [each for each in self._store.list() if is_offered(each.path)]
        except StorageFault as fault:
            problem = f"the inbox {shown(self._store.address)} cannot be listed: {fault.found}"
            raise InputError(problem, fault.hint) from fault
        ready: list[InboxFile] = []
        seen: dict[str, Look] = {}
        for each in found:
            source, stamp = source_of(each.path), (each.size, each.mtime_ns)
            taken, last = known.get(source), looks.get(source)
            if not is_known(each.path[-1]) or (taken is not None and (taken.size, taken.mtime_ns) == stamp):
                continue
            same = last is not None and (last.size, last.mtime_ns) == stamp
            seen[source] = last if last is not None and same else Look(*stamp, now)
            if now - seen[source].since >= QUIET:
                ready.append(InboxFile(source, each.path, *stamp))
        ignored = sorted(source_of(each.path) for each in found if not is_known(each.path[-1]))
        return Scan(tuple(sorted(ready)), seen, len(seen) - len(ready), tuple(ignored))

    def read(
        self, ready: Sequence[InboxFile], known: Mapping[str, FileState], dataset: bool
    ) -> Iterator[DocumentGroup]:
        """As `read_groups`, of copies in a folder of this machine that are deleted with the next ones. They have
        names of their own: an object may be named as what others are below, and longer than a file."""
        for some in _together(ready):
            with tempfile.TemporaryDirectory(prefix="triplecast-inbox-") as scratch:
                for number, file in enumerate(some):
                    self._fetch(file, Path(scratch, str(number)))
                copies = [file._replace(path=(str(number),)) for number, file in enumerate(some)]
                yield from read_groups(Path(scratch), copies, known, dataset)

    def arrivals(self) -> Arrivals | None:
        """No store tells what comes."""
        return None

    def list_arrived(self, arrived: Iterable[tuple[str, ...]], known: Mapping[str, FileState]) -> list[InboxFile]:
        return []

    def _fetch(self, file: InboxFile, copied: Path) -> None:
        """Copy what is the same still; what is not is left to a later scan, as is what is not there."""
        if not _is_fetched(file):
            return
        name = "/".join(file.path)
        try:
            with copied.open("wb") as target:
                came = self._store.copy_to(name, target)
            state = self._store.state(name)
        except StorageFault:
            state = None
            if self._store.state(name) is not None:
                raise
        if state != StoredFile(file.path, file.size, file.mtime_ns) or came.size != file.size:
            copied.unlink(missing_ok=True)
            return
        os.utime(copied, ns=(file.mtime_ns, file.mtime_ns))


def is_offered(path: Sequence[str]) -> bool:
    """Whether an object is offered as a file: no part of its name is hidden, unfinished or no name of a file."""
    return all(
        part and not part.startswith(".") and not part.endswith(".tmp") and "\0" not in part and len(part) < 200
        for part in path
    )


def _is_fetched(file: InboxFile) -> bool:
    """Whether a file is read at all: no document is so large."""
    return file.size <= GATE.bytes or file.source.lower().endswith(LINES)


def _together(ready: Sequence[InboxFile]) -> Iterator[list[InboxFile]]:
    some: list[InboxFile] = []
    size = 0
    for file in ready:
        if some and (len(some) == FETCHED_FILES or size + file.size > FETCHED_BYTES):
            yield some
            some, size = [], 0
        some.append(file)
        size += file.size if _is_fetched(file) else 0
    if some:
        yield some
