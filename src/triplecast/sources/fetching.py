"""One request for a document: redirects followed one by one, and what the answer says about the next request.

Redirects are followed here, each through the same egress: an address that a server names is vetted like one that a user
named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urljoin

from triplecast.egress import Send, read_date, read_retry_after
from triplecast.sources.source import SECOND, Validators

MOST_BYTES = 16 << 20
"""Of a document, unpacked: more is none that is parsed."""
SECONDS = 30.0
"""Of one request."""
REDIRECTS = 5
SERVER_BUSY = (429, 503)
"""By which a server asks to be left alone."""
ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, text/turtle, application/ld+json, "
    "application/rdf+xml, application/n-triples, application/n-quads, application/trig, application/xml;q=0.9, "
    "text/xml;q=0.9, application/json;q=0.8, */*;q=0.1"
)
_PERMANENT = (301, 308)
_REDIRECTS = (*_PERMANENT, 302, 303, 307)
_MAX_AGE = re.compile(r"(?:^|[,\s])(?:max-age)\s*=\s*\"?([0-9]{1,10})", re.I)
_IMMUTABLE = re.compile(r"(?:^|[,\s])immutable\b", re.I)
_LINK = re.compile(r"<([^<>]*)>\s*((?:;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s;,\"]+)\s*)*)")
_RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.I)
_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]*")
"""What may be a header's value: a validator that is none could not be sent back."""
_UNTOLD = frozenset(
    {"", "text/plain", "text/html", "application/octet-stream", "binary/octet-stream", "application/xhtml+xml"}
)
"""Media types that servers give when they do not know: the content decides."""


@dataclass
class CheckFailed(Exception):
    """A source that could not be read this time."""

    reason: str
    status: int = 0
    """Of its answer; 0 where that is not what failed."""
    retry_seconds: float | None = None

    @property
    def is_passing(self) -> bool:
        """Whether another try may help."""
        return self.status >= 500 or self.status in (408, *SERVER_BUSY)


class Fetched(NamedTuple):
    """The answer to a request, after redirects."""

    status: int
    address: str
    """Where it came from."""
    moved_to: str
    """The same where the way there was permanent throughout (301, 308); else empty."""
    validators: Validators
    body: bytes
    media_type: str | None
    links: Mapping[str, str]
    """What headers ``Link`` name, by relation in lower case; the first of each."""
    immutable: bool
    """Whether it says that it never changes (Cache-Control)."""
    fresh_seconds: float
    """How long it says to be fresh (Cache-Control, Expires)."""
    retry_seconds: float | None
    """What ``Retry-After`` says."""


def fetch(send: Send, url: str, validators: Validators, now: int, agent: str) -> Fetched:
    """Ask for `url`. Raises `EgressRefused`, `EgressFailed`, and `CheckFailed` for an answer that is too long or leads
    in circles."""
    headers = [("Accept", ACCEPT), ("User-Agent", agent)]
    headers += [("If-None-Match", validators.etag)] if validators.etag else []
    headers += [("If-Modified-Since", validators.last_modified)] if validators.last_modified else []
    address, is_permanent = url, True
    for _ in range(REDIRECTS + 1):
        answer = send("GET", address, headers, seconds=SECONDS, most_bytes=MOST_BYTES)
        named = answer.header("location")
        if answer.status not in _REDIRECTS or named is None:
            break
        is_permanent = is_permanent and answer.status in _PERMANENT
        address = _resolved(address, named)
    else:
        raise CheckFailed(f"it was redirected more than {REDIRECTS} times; give the address that it leads to")
    if answer.truncated:
        raise CheckFailed(f"its document has more than {MOST_BYTES >> 20} MiB; find a smaller one, or its pages")
    return Fetched(
        answer.status,
        address,
        address if is_permanent and address != url else "",
        Validators(*(_sendable(answer.header(name) or "") for name in ("etag", "last-modified"))),
        answer.body,
        _media_type(answer.header("content-type") or ""),
        _links(address, [value for name, value in answer.headers if name == "link"]),
        bool(_IMMUTABLE.search(answer.header("cache-control") or "")),
        _fresh(answer.header("cache-control") or "", answer.header("expires"), answer.header("date"), now),
        read_retry_after(answer.header("retry-after"), now),
    )


def _sendable(value: str) -> str:
    return value if _SENDABLE.fullmatch(value) else ""


def _resolved(address: str, reference: str) -> str:
    """Raises `CheckFailed` for what is no address; egress refuses what may not be asked."""
    try:
        return urljoin(address, reference.strip()).partition("#")[0]
    except ValueError:
        raise CheckFailed("it redirects to what is no address; tell its publisher") from None


def _media_type(said: str) -> str | None:
    return None if said.partition(";")[0].strip().lower() in _UNTOLD else said


def _links(address: str, headers: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in headers:
        for target, parameters in _LINK.findall(header):
            if relations := _RELATION.search(parameters):
                for name in (relations[1] or relations[2]).lower().split():
                    found.setdefault(name, _resolved(address, target))
    return found


def _fresh(cache_control: str, expires: str | None, date: str | None, now: int) -> float:
    if re.search(r"(?:^|[,\s])no-(?:cache|store)\b", cache_control, re.I):
        return 0.0
    if found := _MAX_AGE.search(cache_control):
        return float(found[1])
    until, since = read_date(expires), read_date(date)
    if until is None:
        return 0.0
    return max(0.0, until - (now / SECOND if since is None else since))
