"""What an operator of a service decides, and the limits that hold unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address

from triplecast.delivery.sending import MailServer
from triplecast.egress import EgressRules
from triplecast.ingest.gate import GATE

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "[::1]"))
"""What a request on this machine calls the server. Another name is a web page's that resolves to this machine."""
STREAMS = 10_000
PUBLISH, SUBSCRIBE, READ, TAXONOMY, ADMIN = "publish", "subscribe", "read", "taxonomy", "admin"
SCOPES = (PUBLISH, SUBSCRIBE, READ, TAXONOMY, ADMIN)
"""What a token may open. `ADMIN` opens all, and what is another owner's."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who asks, and what that opens."""

    owner: str | None
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Of one service."""

    tokens: Mapping[bytes, Access] | None = None
    """By the SHA-256 of the token; None: everybody who can connect may do everything (on loopback alone)."""
    hosts: frozenset[str] = LOOPBACK_NAMES
    """Names in ``Host``, without a port, that are answered; empty: all."""
    document_bytes: int = GATE.bytes
    bulk_bytes: int = 64 << 20
    """Of the body of one bulk request,"""
    bulk_lines: int = 100_000
    """which has no more lines: each has an answer."""
    request_bytes: int = 4 << 20
    """Of any other body."""
    waiting_bytes: int = 256 << 20
    """Of all bodies that are held at once."""
    body_seconds: float = 60.0
    """For a body to come."""
    threads: int = 32
    """Calls of the engine that are under way at once."""
    waiting: int = 512
    """Calls that wait for one of these. Whoever comes then is told to come again."""
    documents_waiting: int = 64
    """Documents that wait for those that are being committed: the last of them for some 60 ms."""
    streams: int = STREAMS
    """Streams of notifications that are open at once."""
    logs_kept: int = 8
    """Of local repositories, each with the documents in memory."""
    queries_waiting: int = 32
    query_seconds: float = 10.0
    """CPU time of one query."""
    query_opening: float = 600.0
    """Seconds after which the process that answers queries is ended: it reads all documents before the first one."""
    query_memory: int = 1 << 30
    """Of the process that answers queries, beyond the documents as it first read them."""
    query_rows: int = 100_000
    query_bytes: int = 64 << 20
    """Of an answer as it is sent."""
    egress: EgressRules = field(default_factory=EgressRules)
    """Where webhooks and sources may be."""
    public_url: str = ""
    """Under which hubs of feeds reach this service; empty: it subscribes to none."""
    mail: MailServer | None = None
    idempotency: timedelta = field(default=timedelta(days=1))
    """How long the answer to a request with an ``Idempotency-Key`` is kept."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to what listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
