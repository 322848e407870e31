"""HTTP receivers on this machine that answer as they are scripted, byte by byte."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

Behaviour = Callable[[socket.socket, bytes], None]


def answering(answer: bytes) -> Behaviour:
    return lambda connection, _: connection.sendall(answer)


class Receiver:
    def __init__(self, behave: Behaviour) -> None:
        self.requests: list[bytes] = []
        self._behave = behave
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            request = read_request(connection)
            if request is not None:
                self.requests.append(request)
                self._behave(connection, request)

    def close(self) -> None:
        self._listening.close()


def read_request(connection: socket.socket) -> bytes | None:
    """A whole request; None where the sender ended before its end."""
    request = b""
    while b"\r\n\r\n" not in request:
        if not (received := connection.recv(65536)):
            return None
        request += received
    head, _, body = request.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        if not (received := connection.recv(65536)):
            return None
        body += received
    return head + b"\r\n\r\n" + body


@contextmanager
def receiver(behave: Behaviour) -> Iterator[Receiver]:
    listening = Receiver(behave)
    try:
        yield listening
    finally:
        listening.close()
