"""The one writer of a folder: an advisory lock that the kernel frees when its holder ends, however it ends.

The lock keeps a second writer from starting; what keeps a writer from writing after another has followed it is the
epoch in the journal (`Journal.check_writer`).
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
from pathlib import Path
from weakref import WeakSet

from triplecast.errors import FolderLocked

LOCK = "writer.lock"
_STOPPED = "it is stopped (SIGSTOP): continue it or end it (kill -9), or take the folder over (docs/back-up.md)"


class WriterLock:
    """Held from construction to `close`; raises `FolderLocked`, naming the holder, while another holds it.

    Two locks in one process exclude each other too. The file says who holds it (process, host, start) and where it
    answers requests, and is left in place. With `replace` the name is given to a new file, so that a holder of the one
    before holds a file that nobody will open again: a lock counts only on the file that has the name.
    """

    def __init__(self, folder: Path, started: str, replace: bool = False) -> None:
        self._path = folder / LOCK
        self._descriptor = -1
        _HELD.add(self)
        try:
            self._take(folder, f"{_this_process()}started {started}".encode(), replace)
        except BaseException:
            self.close()
            raise

    def _take(self, folder: Path, holder: bytes, replace: bool) -> None:
        path = self._path
        while True:
            taken = path.with_name(f"{LOCK}.{os.urandom(4).hex()}") if replace else path
            self._descriptor = os.open(taken, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise _locked(folder, _read_holder(path)) from error
            if replace:
                os.replace(taken, path)
            if _has_name(self._descriptor, path):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, holder, 0)
                return
            self.close()

    def check(self) -> None:
        """Raises `FolderLocked` where the lock has been taken over since."""
        if not _has_name(self._descriptor, self._path):
            holder = _read_holder(self._path)
            raise FolderLocked(str(self._path.parent), holder or "another process", "that one took the folder over")

    def announce(self, address: str) -> None:
        """Note the control socket at which the holder answers, on the second line of the file."""
        self.check()
        os.pwrite(
            self._descriptor, f"\n{address}".encode("utf-8", "surrogateescape"), os.fstat(self._descriptor).st_size
        )

    def close(self) -> None:
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # for a child that is just forked, too
        self.leave()

    def leave(self) -> None:
        """Close this process's copy of the descriptor: the lock lasts until the last one is closed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


_HELD: WeakSet[WriterLock] = WeakSet()


def _release_in_child() -> None:
    for lock in list(_HELD):
        lock.leave()


os.register_at_fork(after_in_child=_release_in_child)


def read_address(folder: Path) -> str | None:
    """The control socket that the last holder of a folder's lock announced. It may have ended since."""
    return _read_lines(folder / LOCK)[1] or None


def _read_holder(path: Path) -> str:
    return _read_lines(path)[0]


def _read_lines(path: Path) -> tuple[str, str]:
    try:
        holder, _, address = path.read_bytes().decode("utf-8", "surrogateescape").partition("\n")
    except FileNotFoundError:
        return "", ""
    return holder, address


def _has_name(descriptor: int, path: Path) -> bool:
    """Whether nobody has given the name to another file since this one was opened."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _locked(folder: Path, holder: str) -> FolderLocked:
    if not holder:
        return FolderLocked(str(folder), "another process that is just starting")
    if holder.startswith(_this_process()):
        hint = "it is this very process: close what has the folder open, or use that one from all threads"
        return FolderLocked(str(folder), holder, hint)
    found = re.match(r"process ([0-9]+) on (.*), started ", holder)
    if found and found[2] == socket.gethostname() and _is_stopped(int(found[1])):
        return FolderLocked(str(folder), holder, _STOPPED)
    return FolderLocked(str(folder), holder)


def _is_stopped(process: int) -> bool:
    """By Linux's /proc; elsewhere nobody knows."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "T"


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}, "
