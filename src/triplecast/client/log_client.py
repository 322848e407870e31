"""Requests by which a folder follows that of a service: its log, snapshots of it, and the subscriptions of an owner."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from triplecast.client import calls
from triplecast.client.calls import Reply, ServiceCall
from triplecast.client.connection import Connection
from triplecast.errors import EgressFailed, ServiceRefused

LONGEST = 1 << 30
"""Bytes of one transaction, or of a snapshot."""
ATTEMPTS = 3
"""How often is asked without an answer, or with one that brings nothing."""
_LONGEST_WAIT = 5.0
_END = b"\nTC .\n"
_Read = TypeVar("_Read")


class LogClient:
    """May be used from any thread. Methods raise `ServiceRefused`, and `EgressFailed` where there is no answer.

    What only reads is asked again where a connection breaks, or the service is busy.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """As `Client`."""
        self._service = Connection(url, token, timeout, transport, sleep)

    def close(self) -> None:
        self._service.close()

    def rows(self, name: str, owner: str | None = None, **params: int) -> Any:
        """What is answered in JSON under a name of the log, or of an owner's."""
        return self._again(lambda: self._service.ask(ServiceCall("GET", _path(name, owner), Reply.json, params)))

    def log(self, name: str, owner: str | None = None, **params: int | str) -> Iterator[bytes]:
        """Whole transactions of RDF Patch, as they arrive. A connection that breaks ends them early: whoever reads goes
        on from the last one."""
        call = ServiceCall("GET", _path(name, owner), _as_it_is, params)
        with self._open(call) as response, suppress(httpx.TransportError):
            yield from _transactions(response.iter_bytes())

    def snapshot(self, owner: str, buckets: Collection[int] | None) -> bytes:
        """It goes on where a connection broke, as long as the snapshot is the same."""
        params = {} if buckets is None else {"bucket": sorted(buckets)}
        received, tag, left = bytearray(), "", ATTEMPTS
        while True:
            headers = {"Range": f"bytes={len(received)}-", "If-Range": tag} if received else {}
            with self._open(ServiceCall("GET", _path("snapshot", owner), _as_it_is, params, headers)) as response:
                if response.status_code != httpx.codes.PARTIAL_CONTENT:
                    received.clear()
                tag, before = response.headers.get("ETag", ""), len(received)
                try:
                    for part in response.iter_bytes():
                        received += part
                        _check_size(len(received))
                    return bytes(received)
                except httpx.TransportError:
                    left = ATTEMPTS if len(received) > before else left - 1
                    if not left:
                        raise

    def replace(self, owner: str, subscriptions: Sequence[Mapping[str, object]], ended: Sequence[str]) -> Any:
        """Asked once: where there is no answer, it was done or not."""
        body = json.dumps({"subscriptions": [*subscriptions], "ended": [*ended]}).encode()
        path, headers = _path("subscriptions", owner), {"Content-Type": "application/json"}
        return self._service.ask(ServiceCall("POST", path, Reply.json, {}, headers, body))["outcomes"]

    def describe(self, resource: str) -> bytes:
        return self._again(
            lambda: self._service.ask(ServiceCall("GET", "/log/description", _as_it_is, {"resource": resource}))
        ).body

    def query(self, text: str) -> tuple[str, bytes]:
        """The media type and the body of the answer."""
        found = self._again(lambda: self._service.ask(calls.query(text, _as_it_is)))
        return found.headers.get("Content-Type", "").partition(";")[0], found.body

    # ---- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _open(self, call: ServiceCall[Reply]) -> Iterator[httpx.Response]:
        """An answer whose body is read as it comes."""
        with ExitStack() as opened:
            yield self._again(lambda: opened.enter_context(self._service.open(call)))

    def _again(self, ask: Callable[[], _Read]) -> _Read:
        for attempt in range(1, ATTEMPTS):
            try:
                return ask()
            except EgressFailed:
                self._service.sleep(0.1 * attempt)
            except ServiceRefused as error:
                if error.status not in (429, 503):
                    raise
                self._service.sleep(min(error.retry_after or 1.0, _LONGEST_WAIT))
        return ask()


def _as_it_is(answer: Reply) -> Reply:
    return answer


def _path(name: str, owner: str | None) -> str:
    return f"/{name}" if owner is None else f"/followers/{quote(owner, safe='')}/{name}"


def _transactions(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What is whole of a text in parts: no literal has a line end, so a transaction ends where a line says so."""
    held, looked = bytearray(), 0
    for part in parts:
        held += part
        while (found := held.find(_END, looked)) >= 0:
            yield bytes(held[: found + len(_END)])
            del held[: found + len(_END)]
            looked = 0
        looked = max(0, len(held) - len(_END))
        _check_size(len(held))


def _check_size(size: int) -> None:
    if size > LONGEST:
        raise ServiceRefused(502, f"it sends a transaction of more than {LONGEST} bytes", "follow less of it")
