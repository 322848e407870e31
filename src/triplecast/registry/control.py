"""The control socket of a run: JSON objects, one a line, for whoever may write to its folder."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import stat
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from threading import Thread

from triplecast.errors import InputError
from triplecast.storage_faults import storage_faults

SOCKET = "control.sock"
LINE_BYTES = 32 << 20
"""Of a request; more than the longest query takes as JSON, whose characters may take 12 bytes each."""
CLIENTS = 32
"""Connections that are served at a time. One more closes the one that has been silent for longest, or waits."""
SILENT_SECONDS = 0.5
"""How long a connection has sent no request, and is not being answered, before another may take its place."""
STALL_SECONDS = 30.0
"""How long a client may take to read an answer."""
PATH_BYTES = 100
"""The longest path that every system takes for a socket."""
_TOO_LONG = b'{"error": "the request has more than %d bytes", "hint": "split it"}\n' % LINE_BYTES


class ControlServer:
    """Answers requests on a thread of its own; a client that stalls, or sends what is no request, harms nobody else.

    The caller holds the writer's lock of the folder, so a socket that is there is stale.
    """

    def __init__(self, folder: Path, answer: Callable[[bytes], bytes]) -> None:
        """`answer` takes the line of a request and returns that of its answer; it may be called by four threads.
        Raises `StorageFault` where the socket cannot be made."""
        self._answer = answer
        self._clients: OrderedDict[asyncio.StreamWriter, float] = OrderedDict()
        """Since when each is silent, infinity while it is answered; the one that is silent for longest comes first."""
        self._workers = ThreadPoolExecutor(4, "triplecast-control")
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self.address = _choose_address(folder)
        with storage_faults(self.address):
            self._socket = _bind(self.address)
            self._inode = os.stat(self.address).st_ino
        self._thread = Thread(target=self._run, name="triplecast-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; requests that are being answered are done when this returns."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._workers.shutdown(wait=True)
        with suppress(FileNotFoundError):
            if os.stat(self.address).st_ino == self._inode:  # or a later writer has made its own
                os.unlink(self.address)

    def _run(self) -> None:
        with closing(self._loop):
            self._loop.run_until_complete(self._listen())

    async def _listen(self) -> None:
        server = await asyncio.start_unix_server(self._serve, sock=self._socket, limit=LINE_BYTES)
        await self._ended.wait()
        server.close()
        served = asyncio.all_tasks() - {asyncio.current_task()}
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._take_place(writer)
        try:
            while line := await _read_line(reader):
                self._clients[writer] = inf
                answer = await self._loop.run_in_executor(self._workers, self._answer, line)
                await _write(writer, answer)
                self._clients[writer] = self._loop.time()
                self._clients.move_to_end(writer)
        except ValueError:
            with suppress(OSError):
                await _write(writer, _TOO_LONG)
        except OSError:  # TimeoutError among them: it reads no answer
            writer.transport.abort()
        finally:
            self._clients.pop(writer, None)
            writer.close()

    async def _take_place(self, writer: asyncio.StreamWriter) -> None:
        """Wait until fewer than `CLIENTS` are served; nothing more is read meanwhile."""
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        while len(self._clients) >= CLIENTS:
            latest = self._loop.time() - SILENT_SECONDS
            silent = next((each for each, since in self._clients.items() if since < latest), None)
            if silent is None:
                await asyncio.sleep(SILENT_SECONDS / 10)
            else:
                del self._clients[silent]
                silent.transport.abort()
        self._clients[writer] = self._loop.time()
        writer.transport.resume_reading()  # type: ignore[attr-defined]


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """The next line; empty at the end. Raises ValueError for one that is too long."""
    line = await reader.readline()
    return line if line.endswith(b"\n") else b""


async def _write(writer: asyncio.StreamWriter, answer: bytes) -> None:
    writer.write(answer)
    async with asyncio.timeout(STALL_SECONDS):
        await writer.drain()


def _bind(address: Path) -> socket.socket:
    """A listening socket that only this user can connect to."""
    address.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listening.fileno(), 0o600)  # on Linux the file gets this mode as it is made
        listening.bind(str(address))
        os.chmod(address, 0o600)
        listening.listen(CLIENTS)
    except BaseException:
        listening.close()
        raise
    return listening


def _choose_address(folder: Path) -> Path:
    """In the folder, or, where that path is too long for a socket, in a folder of this user's for temporary files."""
    address = folder / SOCKET
    if len(os.fsencode(address)) <= PATH_BYTES:
        return address
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"triplecast-{os.getuid()}-{digest}"
    with storage_faults(short):
        short.mkdir(mode=0o700, exist_ok=True)
        state = short.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise InputError(f"{short} is not a folder of this user's alone", "remove it, or set TMPDIR to a shorter path")
    return short / SOCKET
