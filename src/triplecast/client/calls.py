"""Requests to a service, and what its answers mean: values, which `Client` and `AsyncClient` send and receive."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from triplecast.client.answers import RemoteAnswer, RemoteNotification, RemoteReceipt, RemoteSubscription, read_answer
from triplecast.errors import EgressFailed, ServiceRefused

DOCUMENTS_AT_ONCE = 200
"""Lines of one request of `publish_many`."""
BYTES_AT_ONCE = 8 << 20
TOKEN = "TRIPLECAST_TOKEN"
"""The environment variable with the token: arguments are seen by all users of a machine, and folders are copied."""
PAGE = 1000
"""Notifications of one request."""

Lease = timedelta | float | datetime | str | None
"""Seconds from now on, or a time."""
Row: TypeAlias = dict[str, Any]
_Answer = TypeVar("_Answer")


class Reply(NamedTuple):
    """The answer to a request, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class ServiceCall(Generic[_Answer]):
    """A request to a service, and what reads its answer."""

    method: str
    path: str
    read: Callable[[Reply], _Answer]
    params: Mapping[str, str | int | Sequence[int]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    absent: bool = False
    """Whether 404 is an answer, too."""

    @property
    def sent(self) -> dict[str, Any]:
        """The arguments of ``httpx``."""
        params, headers = dict(self.params), dict(self.headers)
        return {"method": self.method, "url": self.path, "params": params, "headers": headers, "content": self.content}

    def answer(self, answer: Reply) -> _Answer:
        """Raises `ServiceRefused`."""
        return self.read(answer if self.absent and answer.status == 404 else check(answer))


@dataclass(frozen=True, slots=True)
class Reading:
    """Which notifications are read, and by whose right."""

    subscription: str | None
    owner: str | None
    ticket: str | None

    def call(self, since: str, accept: str, read: Callable[[Reply], _Answer], **more: int) -> ServiceCall[_Answer]:
        params = _given({"since": since, "subscription": self.subscription, "owner": self.owner, **more})
        return ServiceCall("GET", "/notifications", read, params, {"Accept": accept, **_ticket(self.ticket)})

    def page(self, since: str) -> ServiceCall[RemotePage]:
        return self.call(since, "application/json", RemotePage.of, limit=PAGE)

    def undecided(self, after: int) -> ServiceCall[ShortfallPage]:
        params = _given({"after": after, "subscription": self.subscription, "owner": self.owner})
        read = partial(ShortfallPage.of, "undecided")
        return ServiceCall("GET", "/undecided", read, params, _ticket(self.ticket))


@dataclass(frozen=True, slots=True)
class RemotePage:
    """Some notifications, and where the next ones begin."""

    notifications: list[RemoteNotification]
    cursor: str
    has_more: bool

    @classmethod
    def of(cls, answer: Reply) -> RemotePage:
        row = answer.json()
        return cls([*map(RemoteNotification.of, row["notifications"])], row["cursor"], row["more"])


class ShortfallPage(NamedTuple):
    """Some rows as JSON has them, and after which position the next ones are."""

    rows: list[dict[str, Any]]
    after: int
    has_more: bool

    @classmethod
    def of(cls, name: str, answer: Reply) -> ShortfallPage:
        row = answer.json()
        return cls(row[name], row["after"], row["more"])


def publish(data: bytes | str, media_type: str | None, graph: str | None) -> ServiceCall[RemoteReceipt]:
    body = data.encode() if isinstance(data, str) else data
    headers = {} if media_type is None else {"Content-Type": media_type}
    method = "POST" if graph is None else "PUT"
    return ServiceCall(method, "/documents", _receipt, _given({"graph": graph}), headers, body)


def publish_many(documents: Iterable[Mapping[str, str]]) -> Iterator[ServiceCall[list[RemoteReceipt]]]:
    """Requests of some documents each, with ``id``, ``media_type`` and ``data``."""
    lines: list[bytes] = []
    size = 0
    for each in documents:
        lines.append(json.dumps(each).encode() + b"\n")
        size += len(lines[-1])
        if len(lines) >= DOCUMENTS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield _bulk(lines)
            lines, size = [], 0
    if lines:
        yield _bulk(lines)


def remove(graph: str) -> ServiceCall[RemoteReceipt | None]:
    return ServiceCall("DELETE", "/documents", _removal, {"graph": graph}, absent=True)


def subscribe(text: str, lease: Lease, options: Mapping[str, object]) -> ServiceCall[RemoteSubscription]:
    row = {"text": text, "lease": lease_json(lease), **options}
    return ServiceCall("POST", "/subscriptions", _subscription, {}, _JSON, _json(row))


def subscription(id: str, ticket: str | None) -> ServiceCall[RemoteSubscription]:
    return ServiceCall("GET", _place(id), _subscription, {}, _ticket(ticket))


def renew(id: str, ticket: str | None, until: Lease) -> ServiceCall[str | None]:
    return ServiceCall(
        "PATCH", _place(id), _expires, {}, {**_JSON, **_ticket(ticket)}, _json({"lease": lease_json(until)})
    )


def unsubscribe(id: str, ticket: str | None) -> ServiceCall[int]:
    return ServiceCall("DELETE", _place(id), lambda answer: int(answer.json()["position"]), {}, _ticket(ticket))


def subscriptions(owner: str | None, after: int) -> ServiceCall[tuple[list[RemoteSubscription], int | None]]:
    """A page, and where the next one begins."""
    return ServiceCall("GET", "/subscriptions", _subscriptions, _given({"owner": owner, "after": after}))


def status() -> ServiceCall[dict[str, Any]]:
    return ServiceCall("GET", "/status", Reply.json)


def rejects(after: int) -> ServiceCall[ShortfallPage]:
    return ServiceCall("GET", "/rejects", partial(ShortfallPage.of, "rejects"), {"after": after})


def preview(text: str, last: int, options: Mapping[str, object]) -> ServiceCall[Row]:
    return ServiceCall("POST", "/preview", Reply.json, {}, _JSON, _json({"text": text, "last": last, **options}))


def explain(
    data: bytes | str, id: str, ticket: str | None, media_type: str | None = None, graph: str | None = None
) -> ServiceCall[list[Row]]:
    body, kind = data.encode() if isinstance(data, str) else data, {"Content-Type": media_type} if media_type else {}
    headers, params, place = {**_ticket(ticket), **kind}, _given({"graph": graph}), f"{_place(id)}/explain"
    return ServiceCall("POST", place, lambda answer: list(answer.json()["explanations"]), params, headers, body)


def sources(method: str, act: str = "", body: bytes | None = None, **params: Any) -> ServiceCall[Reply]:
    """What a service does with its sources: `/sources`, and below it `act`."""
    return ServiceCall(method, f"/sources{act}", lambda reply: reply, _given(params), {}, body)


def query(text: str, read: Callable[[Reply], _Answer]) -> ServiceCall[_Answer]:
    accept = "application/sparql-results+json, application/n-triples"
    headers = {"Content-Type": "application/sparql-query", "Accept": accept}
    return ServiceCall("POST", "/sparql", read, {}, headers, text.encode())


def remote_answer(answer: Reply) -> RemoteAnswer:
    return read_answer(answer.headers.get("Content-Type", ""), answer.body)


def lease_json(lease: Lease) -> str | float | None:
    if isinstance(lease, timedelta):
        return lease.total_seconds()
    return lease.isoformat() if isinstance(lease, datetime) else lease


def check(answer: Reply) -> Reply:
    """The answer, where it is a success. Raises `ServiceRefused`."""
    if 200 <= answer.status < 300:
        return answer
    try:
        told = answer.json()
        told = told if isinstance(told, dict) else {}
    except (ValueError, RecursionError):
        told = {}
    what = ": ".join(str(told[name]) for name in ("title", "detail") if told.get(name))
    what, mend = what or httpx.codes.get_reason_phrase(answer.status), str(told.get("mend", ""))
    if answer.status < 400:
        what, mend = f"it leads to {answer.headers.get('Location', 'nowhere')[:200]}", "give the service's own address"
    after = answer.headers.get("Retry-After", "")
    raise ServiceRefused(answer.status, what, mend, float(after) if after.isdecimal() else None, told)


@contextmanager
def answering(url: str) -> Iterator[None]:
    """Raises `EgressFailed` for a service that cannot be reached, and for an address that is none."""
    try:
        yield
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise EgressFailed(url, str(error) or type(error).__name__) from error


def own_token(given: str | None) -> str | None:
    """The token that was given, else that in the variable `TOKEN`."""
    return os.environ.get(TOKEN) if given is None else given


# ---- inside ---------------------------------------------------------------------------------------------------------

_JSON = {"Content-Type": "application/json"}


def _bulk(lines: list[bytes]) -> ServiceCall[list[RemoteReceipt]]:
    return ServiceCall("POST", "/documents", _receipts, {}, {"Content-Type": "application/x-ndjson"}, b"".join(lines))


def _place(id: str) -> str:
    return f"/subscriptions/{quote(id, safe='')}"


def _ticket(ticket: str | None) -> dict[str, str]:
    return {} if ticket is None else {"Triplecast-Ticket": ticket}


def _given(params: Mapping[str, str | int | None]) -> dict[str, str | int]:
    return {name: value for name, value in params.items() if value is not None}


def _json(row: Mapping[str, object]) -> bytes:
    return json.dumps({name: value for name, value in row.items() if value is not None}).encode()


def _receipt(answer: Reply) -> RemoteReceipt:
    return RemoteReceipt.of(answer.json())


def _receipts(answer: Reply) -> list[RemoteReceipt]:
    return [RemoteReceipt.of(json.loads(line)) for line in answer.body.splitlines()]


def _removal(answer: Reply) -> RemoteReceipt | None:
    return None if answer.status == 404 else _receipt(answer)


def _subscription(answer: Reply) -> RemoteSubscription:
    return RemoteSubscription.of(answer.json())


def _subscriptions(answer: Reply) -> tuple[list[RemoteSubscription], int | None]:
    row = answer.json()
    return [*map(RemoteSubscription.of, row["subscriptions"])], row["after"]


def _expires(answer: Reply) -> str | None:
    expires: str | None = answer.json()["expires"]
    return expires
