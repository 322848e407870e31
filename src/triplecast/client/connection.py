"""One service over HTTP: how it is asked, how long its answers may be, and what is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from triplecast.client.calls import Reply, ServiceCall, answering
from triplecast.errors import ServiceRefused

MOST_BYTES = 256 << 20
"""Of an answer that is read whole."""
_Answer = TypeVar("_Answer")


class Connection:
    """May be used from any thread. Methods raise `EgressFailed` where nothing answers."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        transport: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
    ) -> None:
        """As `Client` takes it."""
        self.url = url
        self.sleep = sleep
        with answering(url):
            self._http = httpx.Client(**settings_of(url, token, timeout), transport=transport)

    @property
    def timeout(self) -> httpx.Timeout:
        return self._http.timeout

    def close(self) -> None:
        self._http.close()

    def ask(self, call: ServiceCall[_Answer]) -> _Answer:
        """Raises `ServiceRefused`."""
        with answering(self.url), self._http.stream(**call.sent) as response:
            return call.answer(_read(response))

    @contextmanager
    def open(self, call: ServiceCall[_Answer], timeout: httpx.Timeout | None = None) -> Iterator[httpx.Response]:
        """An answer whose body is read as it comes. Raises `ServiceRefused`."""
        with answering(self.url), self._http.stream(**call.sent, timeout=timeout or self.timeout) as response:
            if not response.is_success:
                call.answer(_read(response))
            yield response


class AnswerReader:
    """Reads a body, and no more of it than an answer has."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._body = bytearray()

    def take(self, part: bytes) -> None:
        """Raises `ServiceRefused`."""
        self._body += part
        if len(self._body) > MOST_BYTES:
            raise ServiceRefused(502, f"it answers with more than {MOST_BYTES >> 20} MiB", "ask for less")

    def answer(self) -> Reply:
        return Reply(self._response.status_code, self._response.headers, bytes(self._body))


def settings_of(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """Of a client of ``httpx``. Nothing is packed: a part of it can be asked for."""
    headers = {"Accept-Encoding": "identity"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _read(response: httpx.Response) -> Reply:
    reader = AnswerReader(response)
    for part in response.iter_bytes():
        reader.take(part)
    return reader.answer()
