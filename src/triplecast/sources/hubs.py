"""A WebSub subscriber (https://www.w3.org/TR/websub/): where a feed names a hub, that sends what is new.

Rows of ``hub`` say what was asked of which hub. It is asked again until it verifies that, and before its lease ends;
where the source or its hub is no more, until it has unsubscribed.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import re
from collections.abc import Mapping
from contextlib import closing
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

from triplecast.egress import Send
from triplecast.errors import EgressFailed, EgressRefused
from triplecast.sources.schedule import DAY
from triplecast.sources.source import SECOND, KnownSource
from triplecast.sources.source_list import SourceList, seconds
from triplecast.sqlite import SqliteFile

LEASE_SECONDS = 10 * DAY
"""That is asked for."""
SHORTEST_LEASE, LONGEST_LEASE = 300, 90 * DAY
"""That a hub may grant: renewed within a tenth of it before its end."""
FIRST_RETRY = 600
"""Seconds until a hub is asked again that did not verify; doubled each time, up to a day."""
TRIES = 8
"""To unsubscribe."""
HOPS = 3
"""Redirections of a hub that are followed."""
METHODS = ("sha1", "sha256", "sha384", "sha512")
_FIRST_ITEM = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)[\s>]")
_LINK = re.compile(rb"<(?:[\w.-]+:)?link\s([^<>]*)>")
_ATTRIBUTE = re.compile(r"\b(rel|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class FoundHub(NamedTuple):
    """What a feed says of where to subscribe to it."""

    hub: str
    topic: str


class HubRow(NamedTuple):
    """What was asked of a hub."""

    token: str
    """256 random bits that the callback ends with."""
    source: int
    hub: str
    topic: str
    secret: str
    expires: int
    """When the lease ends; 0 before the hub verified it."""
    next: int
    """When the hub is to be asked again."""
    tries: int
    leaving: int
    """Whether it is to be unsubscribed."""


def find_hub(links: Mapping[str, str], body: bytes, address: str) -> FoundHub | None:
    """What the header names, else what the feed at `address` does (section 4)."""
    if "hub" not in links:
        links = _links_of(body)
    if not links.get("hub"):
        return None
    try:
        found = FoundHub(urljoin(address, links["hub"]), urljoin(address, links.get("self") or address))
        "".join(found).encode()
    except ValueError:  # no address, or half a character in it
        return None
    return found


def _links_of(body: bytes) -> dict[str, str]:
    """Of a feed in XML, those before its first item; of a JSON Feed, its first hub that speaks WebSub."""
    found: dict[str, str] = {}
    if body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        try:
            feed = json.loads(body)
            hubs = [each["url"] for each in feed.get("hubs", ()) if str(each["type"]).lower() == "websub"]
            return {"hub": str(hubs[0]), "self": str(feed.get("feed_url", ""))} if hubs else {}
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return {}
    first = _FIRST_ITEM.search(body)
    for link in _LINK.findall(body, 0, first.start() if first else len(body)):
        values = {
            name: html.unescape(one or other)
            for name, one, other in _ATTRIBUTE.findall(link.decode("utf-8", "replace"))
        }
        for name in values.get("rel", "").lower().split():
            found.setdefault(name, values.get("href", "").strip())
    return found


def note_hub(file: SqliteFile, source: KnownSource, found: FoundHub | None, now: int) -> bool:
    """Have what a feed names subscribed to, and what it names no longer unsubscribed, inside a step of writing; whether
    the feed comes by itself now."""
    rows = _rows(file, "source = ? AND NOT leaving", source.id)
    for row in rows:
        if found != (row.hub, row.topic):
            file.run("UPDATE hub SET leaving = 1, next = ?, tries = 0 WHERE token = ?", [(now, row.token)])
    if found is not None and not any(found == (row.hub, row.topic) for row in rows):
        asked = (token_urlsafe(32), source.id, *found, token_urlsafe(32), now)
        file.run("INSERT INTO hub VALUES (?, ?, ?, ?, ?, 0, ?, 0, 0)", [asked])
    return is_pushed(file, source, now)


def is_pushed(file: SqliteFile, source: KnownSource, now: int) -> bool:
    return bool(_rows(file, "source = ? AND NOT leaving AND expires > ?", source.id, now))


class Subscriber:
    """Asks hubs, and answers them, for the sources of one folder. May be used from any thread."""

    def __init__(self, sources: SourceList, send: Send, callbacks: str, agent: str) -> None:
        """`callbacks`: the address, with a slash at its end, below which hubs reach this process."""
        self._sources = sources
        self._send = send
        self._callbacks = callbacks
        self._agent = agent
        with sources.writing():  # makes the file, and what one of before lacks
            pass

    def tend(self, now: int) -> None:
        """Ask all hubs that are to be asked now. A lease that ended has its source polled."""
        with closing(self._sources.following()) as file:
            if not _rows(file, "next <= ? OR expires BETWEEN 1 AND ?", now, now):
                return
        with self._sources.writing() as file:
            for row in _rows(file, "expires BETWEEN 1 AND ?", now):
                file.run("UPDATE hub SET expires = 0 WHERE token = ?", [(row.token,)])
                file.run("UPDATE source SET next_check = min(next_check, ?) WHERE id = ?", [(now, row.source)])
            file.run("DELETE FROM hub WHERE leaving AND (tries > ? OR (expires = 0 AND tries > 1))", [(TRIES,)])
            due = _rows(file, "next <= ?", now)
            for row in due:  # first, since the hub may verify it before it answers
                wait = min(DAY, FIRST_RETRY * 2.0 ** min(row.tries, 20))
                file.run(
                    "UPDATE hub SET next = ?, tries = tries + 1 WHERE token = ?", [(now + seconds(wait), row.token)]
                )
        for row in due:
            try:
                self._ask(row)
            except (EgressRefused, EgressFailed):
                continue  # it is asked again, and its source is polled meanwhile

    def _ask(self, row: HubRow) -> None:
        asked = {"hub.callback": self._callbacks + row.token, "hub.topic": row.topic}
        asked |= {"hub.mode": "unsubscribe" if row.leaving else "subscribe"}
        if not row.leaving:
            asked |= {"hub.lease_seconds": str(LEASE_SECONDS), "hub.secret": row.secret}
        headers = [("Content-Type", "application/x-www-form-urlencoded"), ("User-Agent", self._agent)]
        url = row.hub
        for _ in range(HOPS + 1):
            answer = self._send("POST", url, headers, urlencode(asked).encode())
            named = answer.header("location")
            if answer.status not in (301, 302, 307, 308) or named is None:
                return
            url = urljoin(url, named)

    def verify(self, token: str, form: Mapping[str, str], now: int) -> str | None:
        """What to answer a hub that asks whether its row is meant (section 5.3); None for no."""
        mode = form.get("hub.mode")
        with closing(self._sources.following()) as file:
            if not _rows(file, "token = ?", token):
                return None  # who guesses keeps nobody from writing
        with self._sources.writing() as file:
            rows = _rows(file, "token = ? AND topic = ?", token, form.get("hub.topic", ""))
            if not rows or (mode == "unsubscribe") != bool(rows[0].leaving):
                return None
            (row,) = rows
            polled = "UPDATE source SET next_check = ? WHERE id = ?"
            if mode == "unsubscribe":
                file.run("DELETE FROM hub WHERE token = ?", [(token,)])
            elif mode == "denied":
                file.run("UPDATE hub SET expires = 0, next = ? WHERE token = ?", [(now + DAY * SECOND, token)])
                file.run(polled, [(now, row.source)])
                return ""
            elif mode == "subscribe" and row.tries:
                lease = form.get("hub.lease_seconds", "")
                granted = int(lease[:10]) if lease.isascii() and lease.isdecimal() else LEASE_SECONDS
                granted = min(max(granted, SHORTEST_LEASE), LONGEST_LEASE)
                expires, renew = now + granted * SECOND, now + granted * SECOND * 9 // 10
                file.run("UPDATE hub SET expires = ?, next = ?, tries = 0 WHERE token = ?", [(expires, renew, token)])
                if not row.expires:  # what came between the last check and now
                    file.run(polled, [(now, row.source)])
            else:
                return None
        return form.get("hub.challenge", "")

    def source_of(self, token: str) -> tuple[int, str] | None:
        """The source whose hub sends to this callback, and their secret; None where it has none."""
        with closing(self._sources.following()) as file:
            rows = _rows(file, "token = ? AND NOT leaving AND expires > 0", token)
        return (rows[0].source, rows[0].secret) if rows else None


def is_signed(signature: str, secret: str, body: bytes) -> bool:
    """Whether a hub that knows the secret sent this (section 7.1)."""
    method, _, said = signature.partition("=")
    if method not in METHODS:
        return False
    digest = hmac.digest(secret.encode(), body, getattr(hashlib, method)).hex()
    return hmac.compare_digest(digest.encode(), said.strip().lower().encode())


def _rows(file: SqliteFile, where: str, *values: object) -> list[HubRow]:
    return [HubRow(*row) for row in file.ask(f"SELECT * FROM hub WHERE {where}", values)]
