"""Requests by which a folder follows that of a service: its log, snapshots of it, and the subscriptions of an owner."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from triplecast.client import calls
from triplecast.client.calls import answering, check, unanswered
from triplecast.errors import ServiceRefused

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
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token is not None else {})
        self._url = url
        with answering(url):
            self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, transport=transport)
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def rows(self, name: str, owner: str | None = None, **params: int) -> Any:
        """What is answered in JSON under a name of the log, or of an owner's."""
        return self._again(lambda: check(self._http.get(_path(name, owner), params=params))).json()

    def log(self, name: str, owner: str | None = None, **params: int | str) -> Iterator[bytes]:
        """Whole transactions of RDF Patch, as they arrive. A connection that breaks ends them early: whoever reads goes
        on from the last one."""
        response = self._open(_path(name, owner), params, {})
        try:
            yield from _transactions(response.iter_bytes())
        except httpx.TransportError:
            return
        finally:
            response.close()

    def snapshot(self, owner: str, buckets: Collection[int] | None) -> bytes:
        """It goes on where a connection broke, as long as the snapshot is the same."""
        params = {} if buckets is None else {"bucket": sorted(buckets)}
        received, tag, left = bytearray(), "", ATTEMPTS
        while True:
            headers = {"Range": f"bytes={len(received)}-", "If-Range": tag} if received else {}
            response = self._open(_path("snapshot", owner), params, headers)
            try:
                if response.status_code != httpx.codes.PARTIAL_CONTENT:
                    received.clear()
                tag, before = response.headers.get("ETag", ""), len(received)
                for part in response.iter_bytes():
                    received += part
                    _check_size(len(received))
                return bytes(received)
            except httpx.TransportError as error:
                left = ATTEMPTS if len(received) > before else left - 1
                if not left:
                    raise unanswered(self._url, error) from error
            finally:
                response.close()

    def replace(self, owner: str, subscriptions: Sequence[Mapping[str, object]], ended: Sequence[str]) -> Any:
        """Asked once: where there is no answer, it was done or not."""
        row = {"subscriptions": [*subscriptions], "ended": [*ended]}
        with answering(self._url):
            return check(self._http.post(_path("subscriptions", owner), json=row)).json()["outcomes"]

    def describe(self, resource: str) -> bytes:
        return self._again(lambda: check(self._http.get("/log/description", params={"resource": resource}))).content

    def query(self, text: str) -> tuple[str, bytes]:
        """The media type and the body of the answer."""
        found = self._again(lambda: check(self._http.request(**calls.query(text).sent)))
        return found.headers.get("Content-Type", "").partition(";")[0], found.content

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _open(self, path: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        """An answer whose body is read as it comes."""

        def open_once() -> httpx.Response:
            request = self._http.build_request("GET", path, params=params, headers=headers)
            response = self._http.send(request, stream=True)
            if response.is_error:
                response.read()
            return check(response)

        return self._again(open_once)

    def _again(self, ask: Callable[[], _Read]) -> _Read:
        for attempt in range(1, ATTEMPTS):
            try:
                return ask()
            except httpx.TransportError:
                self._sleep(0.1 * attempt)
            except ServiceRefused as error:
                if error.status not in (429, 503):
                    raise
                self._sleep(min(error.retry_after or 1.0, _LONGEST_WAIT))
        with answering(self._url):
            return ask()


def _path(name: str, owner: str | None) -> str:
    return f"/{name}" if owner is None else f"/followers/{quote(owner, safe='')}/{name}"


def _transactions(parts: Iterable[bytes]) -> Iterator[bytes]:
    """What is whole of a text that arrives in parts: no literal has a line end, so a transaction ends where a line says
    so."""
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
