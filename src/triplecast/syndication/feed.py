"""A subscription's notifications as a feed: Atom 1.0 (RFC 4287) and JSON Feed 1.1. One entry an event, under the id of
the notification: readers pass over entries that change."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

from triplecast.model.algebra import Term, from_ntriples
from triplecast.model.printable import shortened
from triplecast.outbox import Notification
from triplecast.syndication.rows import notification_row
from triplecast.syndication.turtle import NOTIFICATION

ATOM = "application/atom+xml"
JSON_FEED = "application/feed+json"
_NAMESPACE = "http://www.w3.org/2005/Atom"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot say."""
_TITLES = ("title", "name", "label", "headline")
_LINKS = ("link", "url", "page")
"""Names of variables whose values are an entry's title and address."""
_LONGEST_TITLE = 300


class FeedHead(NamedTuple):
    """What a feed says of itself."""

    id: str
    """An IRI that never changes, and no secret."""
    title: str
    address: str
    """Where it is read."""
    updated: str
    """Of the last entry, or of the subscription."""
    older: str | None = None
    """Where the entries before these are read."""
    hub: str | None = None
    """A WebSub hub that tells of new ones."""


def atom_feed(head: FeedHead, told: Sequence[Notification]) -> bytes:
    """The entries in the order given, which is the newest first."""
    feed = ET.Element("feed", xmlns=_NAMESPACE)
    _add(feed, "id", head.id)
    _add(feed, "title", head.title)
    _add(feed, "updated", head.updated)
    _add(_add(feed, "author"), "name", "Triplecast")
    for relation, address in (("self", head.address), ("next", head.older), ("hub", head.hub)):
        if address:
            _add(feed, "link", rel=relation, href=address)
    for each in told:
        entry = _add(feed, "entry")
        _add(entry, "id", NOTIFICATION + each.id)
        _add(entry, "title", _title(each))
        _add(entry, "updated", each.accepted_at)
        _add(entry, "published", each.accepted_at)
        if link := _link(each):
            _add(entry, "link", rel="alternate", href=link)
        _add(entry, "category", term=each.change)
        _add(entry, "content", _content(each), type="html")
    written: bytes = ET.tostring(feed, "utf-8", xml_declaration=True)
    return written


def json_feed(head: FeedHead, told: Sequence[Notification]) -> bytes:
    """The same; ``_triplecast`` of an item is the notification as elsewhere in JSON."""
    feed: dict[str, object] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": head.title,
        "feed_url": head.address,
        "authors": [{"name": "Triplecast"}],
    }
    if head.older:
        feed["next_url"] = head.older
    if head.hub:
        feed["hubs"] = [{"type": "WebSub", "url": head.hub}]
    items: list[dict[str, object]] = []
    for each in told:
        item: dict[str, object] = {"id": NOTIFICATION + each.id, "title": _title(each), "content_html": _content(each)}
        if link := _link(each):
            item["url"] = link
        items.append(item | {"date_published": each.accepted_at, "_triplecast": notification_row(each)})
    return json.dumps(feed | {"items": items}, ensure_ascii=False, separators=(",", ":")).encode()


def _add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, name, {key: _NO_XML.sub("\ufffd", value) for key, value in attributes.items()})
    made.text = None if text is None else _NO_XML.sub("\ufffd", text)
    return made


def _title(told: Notification) -> str:
    """What the first row calls its resource; else its values."""
    bound = _value(told, _TITLES) or " · ".join(term.value for term in _first_row(told).values()) or told.publication
    line = " ".join(bound.split())
    is_new = told.change in ("added", "present")
    return shortened(line if is_new else f"{told.change}: {line}", _LONGEST_TITLE)


def _link(told: Notification) -> str | None:
    found = _value(told, _LINKS)
    return next((each for each in (found, told.publication) if each and each.startswith(("http:", "https:"))), None)


def _value(told: Notification, names: Sequence[str]) -> str | None:
    """The value of the first of some variables that the first row binds."""
    row = _first_row(told)
    return next((row[name].value for name in names if name in row and row[name].value.strip()), None)


def _first_row(told: Notification) -> Mapping[str, Term]:
    return next(iter([*told.added, *(after for _, after in told.updated), *told.removed, *told.changed]), {})


def _content(told: Notification) -> str:
    return told.recorded.html(told.subscription, f"{told.publication} v{told.version}", _plain)


def _plain(term: str) -> str:
    return from_ntriples(term).value
