"""Read the items of RSS 0.9x, RSS 2.0 and Atom with feedparser, which tolerates errors.

It gets bytes in memory only (it would open text as a file or address). Sanitising and rewriting of relative addresses
in markup are off, so that titles and contents stay as published. It resolves links against xml:base, and this module
against the feed's IRI; ids and absolute links stay as written. It also repairs UTF-8 that was encoded twice. Below it
is kept from taking the title, description or content of a Media RSS or iTunes file for the item's. Places are read by
`feed_places`.
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
from triplecast.ingest.feed_item import Category, Feed, FeedItem, Link, Person, absolute_iri, date_time
from triplecast.ingest.feed_places import read_places, written_places

feedparser.api.PREFERRED_XML_PARSERS = ()
"""Expat reads all feeds: feedparser would look for libxml2's driver at each, which a sandboxed child cannot."""

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
"""Most characters of a name that is searched for an address."""
_ADDRESS = re.compile(r"\s*([^\s<>()]+@[^\s<>()]+)\s*\Z")


def read_feed(data: bytes, base: str, named: bool) -> tuple[Feed, list[FeedItem], bool]:
    """Return the feed, its items in document order, and whether it is a feed. `data` is UTF-8 that passed the checks.

    A feed that came with an address (`named`) has it, `base`, as its IRI; any other is named by what it states. Raises
    DocumentRejected if feedparser fails, as it does on some malformed extensions.
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
        reason = f"the feed parser failed: {type(error).__name__}: {error}"
        hint = "check extension elements (chapters, image sizes) for invalid content"
        raise DocumentRejected("feed", reason, hint) from None
    channel = found["feed"]
    base = base if named else _own_iri(channel, base)
    feed = Feed(base, _text(channel, "title"), _link_of(channel, base))
    is_atom = str(found.get("version", "")).startswith("atom")
    inherited = _authors(channel) if is_atom else ()
    items = [_item(entry, inherited, _text(channel, "language"), base) for entry in found["entries"]]
    return feed, items, bool(found.get("version") or items)


def _own_iri(channel: Any, base: str) -> str:
    """Return a feed's own IRI: its self link, else its id, else its page; `base` if none is absolute."""
    selves = (_text(link, "href") for link in channel.get("links", ()) if link.get("rel") == "self")
    own = (*selves, _text(channel, "id"), _link_of(channel, base))
    return next((each for each in own if absolute_iri(each)), base)


def _valid_reference(match: re.Match[bytes]) -> bytes:
    """Replace a numeric reference to no character (half of one, beyond Unicode), where feedparser fails, by U+FFFD."""
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
    """Return the value of this very key: feedparser would give ``published`` for ``updated``."""
    return dict.get(entry, key)


def _text(holder: Any, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _link_of(holder: Any, base: str) -> str:
    """Return the page: the link that feedparser chose, else the first alternate one of any type."""
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
    if people:  # feedparser cuts the last address after four letters of its top-level domain
        whole = _person(_text(holder, "author"), "", people[-1].page)
        if whole.email.startswith(people[-1].email) and len(whole.email) > len(people[-1].email) > 0:
            people[-1] = whole
    return tuple(dict.fromkeys(person for person in people if person.name or person.email))


def _person(name: str, email: str, page: str) -> Person:
    """Split ``address (name)`` or ``name <address>``, as RSS writes people."""
    if not email and len(name) <= _LONGEST_NAME:
        if match := _NAMED_ADDRESS.match(name):
            email, name = match[1], match[2].strip()
        elif match := _ADDRESSED_NAME.match(name):
            name, email = match[1], match[2]
        elif match := _ADDRESS.match(name):
            name, email = "", match[1]
    return Person(name, email, page)
