"""A connected socket whose use ends at a deadline, however slowly the other side sends or takes."""

from __future__ import annotations

import io
import socket
import time


class DeadlineSocket:
    """As much of a socket as `http.client` uses. Raises TimeoutError at the deadline, OSError beyond `most_bytes`."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        """`deadline` is one of `time.monotonic`."""
        self.most_bytes = 1 << 62
        """That may be read."""
        self._connection = connection
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            self._limit()
            left = left[self._connection.send(left) :]

    def receive_into(self, buffer: memoryview) -> int:
        self._limit()
        count = self._connection.recv_into(buffer)
        self.most_bytes -= count
        if self.most_bytes < 0:
            raise OSError("its answer does not end")
        return count

    def makefile(self, mode: str) -> io.BufferedReader:
        """What the answer is read from; closing it closes nothing."""
        return io.BufferedReader(_Received(self), 64 << 10)

    def close(self) -> None:
        """Nothing: `http.client` calls it while the answer is still to be read."""

    def __enter__(self) -> DeadlineSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _limit(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)


class _Received(io.RawIOBase):
    def __init__(self, connected: DeadlineSocket) -> None:
        self._connected = connected

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        return self._connected.receive_into(memoryview(buffer))  # type: ignore[arg-type]
