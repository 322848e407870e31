"""Files that are renamed into an inbox, told by the kernel (inotify of Linux) at that moment.

A file that is renamed is complete, if its publisher keeps to what the inbox asks, so it need not stand still first.
Nothing depends on this: what the kernel does not tell, or tells too late, a scan finds.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
from contextlib import suppress
from pathlib import Path

_MOVED_TO, _MOVED_FROM, _CREATED, _DELETED, _FOLDER = 0x80, 0x40, 0x100, 0x200, 0x40000000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_HEADER = struct.Struct("iIII")
_READ = 1 << 16


class Arrivals:
    """Watches the folders below `inbox`. Where the system has no such watches, or no more of them, nothing arrives.

    A folder that is made, moved or removed makes the watches stale: until `refresh`, nothing arrives.
    """

    def __init__(self, inbox: Path) -> None:
        self._inbox = inbox
        self._descriptor = -1
        self._folders: dict[int, tuple[str, ...]] = {}
        self._stale = True

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def refresh(self) -> None:
        """Watch the folders that are there, if that has changed; to be called before a scan."""
        if not self._stale:
            return
        self.close()
        self._folders.clear()
        try:
            system = ctypes.CDLL(None)
            self._descriptor = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            watch = system.inotify_add_watch
        except (OSError, AttributeError):
            return
        if self._descriptor < 0:
            return
        mask = _MOVED_TO | _MOVED_FROM | _CREATED | _DELETED | _ONLY_FOLDERS | _NO_LINKS
        self._stale = False
        for here, names, _ in os.walk(self._inbox):
            names[:] = [name for name in names if not name.startswith(".") and not name.endswith(".tmp")]
            number = watch(self._descriptor, os.fsencode(here), mask)
            if number >= 0:
                path = os.path.relpath(here, self._inbox)
                self._folders[number] = () if path == "." else tuple(path.split(os.sep))

    def wait(self, seconds: float) -> set[tuple[str, ...]]:
        """Return the paths below the inbox, in parts, of files that were renamed since the last call, as soon as there
        are some; an empty set after so many seconds."""
        if self._descriptor < 0:
            select.select([], [], [], seconds)
            return set()
        select.select([self._descriptor], [], [], seconds)
        found: set[tuple[str, ...]] = set()
        with suppress(BlockingIOError):
            while events := os.read(self._descriptor, _READ):
                found |= self._read(events)
        return set() if self._stale else found

    def _read(self, events: bytes) -> set[tuple[str, ...]]:
        found = set()
        start = 0
        while start < len(events):
            number, mask, _, length = _HEADER.unpack_from(events, start)
            start += _HEADER.size + length
            name = os.fsdecode(events[start - length : start].rstrip(b"\0"))
            if mask & _FOLDER:
                self._stale = True
            elif mask & _MOVED_TO and number in self._folders and not name.startswith("."):
                found.add((*self._folders[number], name))
        return found
