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
            holder = f"process {os.getpid()} on {socket.gethostname()}, started {started}"
            os.pwrite(self._descriptor, holder.encode(), 0)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace")
            self.close()
            raise FolderLocked(str(folder), holder or "another process that is just starting") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
