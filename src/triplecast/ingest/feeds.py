"""RSS 0.9x, RSS 2.0 and Atom → feed items, by feedparser, which forgives what can be forgiven.

It gets bytes in memory only (given text, it would open files and addresses) and with sanitising and the rewriting of
relative addresses inside markup switched off, so that titles and contents stay as published. Links are resolved against
xml:base by it and against the feed's IRI here, so that ids and absolute links stay as written. It fixes one thing
unasked: UTF-8 that was encoded twice. What Media RSS and iTunes say of a file it would take for the item's own title,
description or content; it is kept from that below. Where an item is, `feed_places` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BytesIO
from typing import Any
from urllib.parse import urljoin

import feedparser
import feedparser.api
from feedparser.namespaces import itunes, mediarss

from triplecast.errors import DocumentRejected
from triplecast.ingest.dates import date_time
from triplecast.ingest.feed_item import Category, Feed, FeedItem, Link, Person, absolute_iri
from triplecast.ingest.feed_places import read_places, written_places

feedparser.api.PREFERRED_XML_PARSERS = ()
"""It would look for libxml2's driver at each feed, which a sandboxed child cannot: expat reads all feeds."""

for _extension, _element in (
    (mediarss.Namespace, "media_title"),
    (mediarss.Namespace, "media_description"),
    (itunes.Namespace, "itunes_summary"),
):
    setattr(_extension, f"_start_{_element}", lambda self, attributes, name=_element: self.push(name, 1))
    setattr(_extension, f"_end_{_element}", lambda self, name=_element: self.pop(name))

_DATES = (("issued", "published"), ("modified", "updated"), ("created", "created"))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HIERARCHICAL = re.compile(r"(?:https?|ftp|file)://")
_REFERENCE = re.compile(rb"&#([0-9]{5,}|[xX][0-9a-fA-F]{4,}|0+(?![0-9])|[xX]0+(?![0-9a-fA-F]));?")
_NAMED_ADDRESS = re.compile(r"\s*<?([^\s<>()]+@[^\s<>()]+)>?\s*\((.*)\)\s*\Z", re.DOTALL)
_ADDRESSED_NAME = re.compile(r"\s*(.*?)\s*[<(]([^\s<>()]+@[^\s<>()]+)[>)]\s*\Z", re.DOTALL)
_LONGEST_NAME = 1000
"""Characters up to which a name is searched for an address."""
_ADDRESS = re.compile(r"\s*([^\s<>()]+@[^\s<>()]+)\s*\Z")


def read_feed(data: bytes, base: str, named: bool) -> tuple[Feed, list[FeedItem], bool]:
    """The feed, its items in document order, whether it was one at all. `data` is UTF-8 that passed the XML gate.

    A feed that came with an address (`named`) has it as its IRI, `base`; another one is named by what it says of
    itself. Raises DocumentRejected where feedparser falls over what it met (it does, over extensions written wrongly).
    """
    if _REFERENCE.search(data):
        data = _REFERENCE.sub(_valid_reference, data)
    try:
        found: Any = feedparser.parse(
            BytesIO(data),
            response_headers={"content-type": "application/xml; charset=utf-8"},
            resolve_relative_uris=False,
            sanitize_html=False,
        )
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DocumentRejected(
            stage="feed",
            reason=f"the feed parser met something that it cannot read: {type(error).__name__}: {error}",
            hint="look for extension elements (chapters, image sizes) without their proper content",
        ) from None
    channel = found["feed"]
    base = base if named else _own_iri(channel, base)
    feed = Feed(base, _text(channel, "title"), _link_of(channel, base))
    is_atom = str(found.get("version", "")).startswith("atom")
    inherited = _authors(channel) if is_atom else ()
    items = [_item(entry, inherited, _text(channel, "language"), base) for entry in found["entries"]]
    return feed, items, bool(found.get("version") or items)


def _own_iri(channel: Any, base: str) -> str:
    """What a feed says that it is: its self link, else its id, else its page; `base` where it says none absolutely."""
    selves = (_text(link, "href") for link in channel.get("links", ()) if link.get("rel") == "self")
    for said in (*selves, _text(channel, "id"), _link_of(channel, base)):
        if absolute_iri(said):
            return said
    return base


def _valid_reference(match: re.Match[bytes]) -> bytes:
    """Numeric references to what is no character (half ones, beyond Unicode) make feedparser fall: U+FFFD for them."""
    digits = match[1].decode() if len(match[1]) <= 12 else "1114112"
    number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    valid = 0 < number < 0x110000 and not 0xD800 <= number < 0xE000
    return match[0] if valid else b"&#65533;"


def _item(entry: Any, feed_authors: tuple[Person, ...], feed_language: str, base: str) -> FeedItem:
    contents = entry.get("content", ())
    detail = entry.get("title_detail") or entry.get("summary_detail") or (contents[0] if contents else {})
    source = entry.get("source") or {}
    places, faults = read_places(written_places(entry))
    return FeedItem(
        id=_text(entry, "id"),
        title=_text(entry, "title"),
        link=_link_of(entry, base),
        description=_text(entry, "summary" if "summary_detail" in entry else "itunes_summary"),
        content=_unique(_text(content, "value") for content in contents),
        language=_text(detail, "language") or feed_language,
        rights=_text(entry, "rights"),
        publisher=_text(entry, "publisher"),
        authors=_authors(entry) or feed_authors,
        contributors=_unique(_text(person, "name") for person in entry.get("contributors", ())),
        categories=tuple(
            dict.fromkeys(
                Category(_text(tag, "term"), _text(tag, "scheme"), _text(tag, "label")) for tag in entry.get("tags", ())
            )
        ),
        links=_other_links(entry, base),
        source=Feed(absolute_link(_text(source, "href"), base) or _link_of(source, base), _text(source, "title"))
        if source
        else None,
        dates=tuple(
            (name, _text(entry, key), date_time(_text(entry, key), _stored(entry, f"{key}_parsed")))
            for name, key in _DATES
            if isinstance(_stored(entry, key), str) and _text(entry, key)
        ),
        places=places,
        faults=faults,
    )


def _stored(entry: Any, key: str) -> Any:
    """The value under this very key: feedparser would answer ``updated`` from ``published``."""
    return dict.get(entry, key)


def _text(holder: Any, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _link_of(holder: Any, base: str) -> str:
    """The page: the link that feedparser chose, else the first alternate one of any type."""
    chosen = _text(holder, "link")
    if chosen:
        return absolute_link(chosen, base)
    links = (_text(link, "href") for link in holder.get("links", ()) if link.get("rel") == "alternate")
    return absolute_link(next((link for link in links if link), ""), base)


def absolute_link(link: str, base: str) -> str:
    """A relative link against the feed's IRI, when that has a path to be relative to."""
    if not link or _SCHEME.match(link) or not _HIERARCHICAL.match(base):
        return link
    try:
        return urljoin(base, link)
    except ValueError:
        return link


def _other_links(entry: Any, base: str) -> tuple[Link, ...]:
    page = _link_of(entry, base)
    links = [
        Link(_text(link, "rel"), target, _text(link, "type"), _text(link, "length"))
        for link in entry.get("links", ())
        if (target := absolute_link(_text(link, "href"), base)) != page or link.get("rel") != "alternate"
    ]
    if comments := _text(entry, "comments"):
        links.append(Link("replies", absolute_link(comments, base)))
    return tuple(dict.fromkeys(links))


def _authors(holder: Any) -> tuple[Person, ...]:
    authors = holder.get("authors", ())
    people = [_person(_text(author, "name"), _text(author, "email"), _text(author, "href")) for author in authors]
    if people:  # feedparser cuts the address of the last one behind four letters of its top-level domain
        whole = _person(_text(holder, "author"), "", people[-1].page)
        if whole.email.startswith(people[-1].email) and len(whole.email) > len(people[-1].email) > 0:
            people[-1] = whole
    return tuple(dict.fromkeys(person for person in people if person.name or person.email))


def _person(name: str, email: str, page: str) -> Person:
    """RSS writes ``address (name)`` or ``name <address>`` in one text."""
    if not email and len(name) <= _LONGEST_NAME:
        if match := _NAMED_ADDRESS.match(name):
            email, name = match[1], match[2].strip()
        elif match := _ADDRESSED_NAME.match(name):
            name, email = match[1], match[2]
        elif match := _ADDRESS.match(name):
            name, email = "", match[1]
    return Person(name, email, page)
