"""The one writer of a folder: an advisory lock that the kernel frees when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

from triplecast.errors import FolderLocked

LOCK = "writer.lock"


class WriterLock:
    """Held from construction to `close`; raises `FolderLocked`, naming the holder, while another holds it.

    Two locks in one process exclude each other too. The file says who holds it (process, host, start) and is left in
    place: removing it would let two processes lock two files of one name.
    """

    def __init__(self, folder: Path, started: str) -> None:
        self._descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{_this_process()}started {started}".encode(), 0)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace")
            self.close()
            if holder.startswith(_this_process()):
                mend = "it is this very process: close what has the folder open, or use that one from all threads"
                raise FolderLocked(str(folder), holder, mend) from error
            raise FolderLocked(str(folder), holder or "another process that is just starting") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}, "
