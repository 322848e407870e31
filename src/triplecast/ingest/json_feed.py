"""Read JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/): JSON, but no JSON-LD."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from triplecast.errors import DocumentRejected
from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.feed_item import Category, Feed, FeedItem, Link, Person, absolute_iri, date_time
from triplecast.ingest.feed_publications import publish_feed
from triplecast.ingest.feeds import absolute_link
from triplecast.ingest.gate import GateLimits
from triplecast.model.publication import Reject

_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/[0-9.]+\Z")
_MENTION = b"jsonfeed.org\\/version", b"jsonfeed.org/version"
_DATES = (("issued", "date_published"), ("modified", "date_modified"))


def parse_json_feed(document: Document, data: bytes, base: str, limits: GateLimits) -> ParsedDocument | None:
    """Parse a JSON Feed; None for any other JSON. Raises DocumentRejected."""
    if not any(mention in data for mention in _MENTION):
        return None
    try:
        found = json.loads(data, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None  # the parser of JSON-LD says why
    if not isinstance(found, dict) or "@context" in found or not _VERSION.match(_text(found, "version")):
        return None
    if not isinstance(items := found.get("items"), list):
        raise DocumentRejected("feed", 'the JSON Feed has no list "items"', "publish the feed whole")
    if document.graph is None:
        own = (_text(found, name) for name in ("feed_url", "home_page_url"))
        base = next((each for each in own if absolute_iri(each)), base)
    feed = Feed(base, _text(found, "title"), absolute_link(_text(found, "home_page_url"), base))
    inherited = _authors(found)
    valid = [item for item in items if isinstance(item, dict)]
    read = [_item(item, inherited, _text(found, "language"), base) for item in valid[: limits.publications]]
    parsed = publish_feed(document.source, feed, read, data, limits, len(valid) > limits.publications)
    if len(valid) == len(items):
        return parsed
    reason = f"items of the JSON Feed that are no objects are left out: {len(items) - len(valid)}"
    fault = Reject(document.source, "feed", reason, "write each item as a JSON object")
    return ParsedDocument(parsed.drafts, (*parsed.rejects, fault))


def _refuse_constant(name: str) -> None:
    """Raises ValueError for ``NaN`` and infinities, which Python reads and JSON lacks."""
    raise ValueError(f"{name} is not JSON")


def _item(item: dict[str, Any], inherited: tuple[Person, ...], language: str, base: str) -> FeedItem:
    link = absolute_link(_text(item, "url"), base)
    other = absolute_link(_text(item, "external_url"), base)
    content = _text(item, "content_html") or _text(item, "content_text")
    return FeedItem(
        id=_text(item, "id"),
        title=_text(item, "title"),
        link=link or other,
        description=_text(item, "summary"),
        content=(content,) if content else (),
        language=_text(item, "language") or language,
        authors=_authors(item) or inherited,
        categories=tuple(dict.fromkeys(Category(tag) for tag in _list(item, "tags") if isinstance(tag, str) and tag)),
        links=tuple(dict.fromkeys(_links(item, other if link else "", base))),
        dates=tuple((name, text, date_time(text)) for name, key in _DATES if (text := _text(item, key))),
    )


def _links(item: dict[str, Any], other: str, base: str) -> Iterator[Link]:
    if other:
        yield Link("related", other)
    for file in _objects(_list(item, "attachments")):
        if target := _text(file, "url"):
            yield Link("enclosure", absolute_link(target, base), _text(file, "mime_type"), _text(file, "size_in_bytes"))


def _authors(holder: dict[str, Any]) -> tuple[Person, ...]:
    """Of version 1.1, else the one of version 1.0."""
    people = _objects(_list(holder, "authors") or [holder.get("author")])
    return tuple(
        dict.fromkeys(Person(name, page=_text(each, "url")) for each in people if (name := _text(each, "name")))
    )


def _text(holder: dict[str, Any], key: str) -> str:
    """Return the text of a member, also of a number as it is written; empty for anything else."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _list(holder: dict[str, Any], key: str) -> list[Any]:
    value = holder.get(key)
    return value if isinstance(value, list) else []


def _objects(values: Iterable[object]) -> Iterator[dict[str, Any]]:
    return (each for each in values if isinstance(each, dict))
