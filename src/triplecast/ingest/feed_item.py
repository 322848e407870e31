"""Feed items of all formats: their dates, and their description in a shared vocabulary (docs/formats.md)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_tz
from hashlib import sha256
from typing import NamedTuple

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.errors import DocumentRejected
from triplecast.ingest.document import part_iri

RSS = "http://purl.org/rss/1.0/"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
FOAF = "http://xmlns.com/foaf/0.1/"
ENCLOSURE = "http://purl.oclc.org/net/rss_2.0/enc#"
RELATION = "http://www.iana.org/assignments/relation/"
CONTENT_ENCODED = NamedNode("http://purl.org/rss/1.0/modules/content/encoded")
RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
DATE_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
ITEM = NamedNode(RSS + "item")
CHANNEL = NamedNode(RSS + "channel")
TITLE, LINK, DESCRIPTION = (NamedNode(RSS + name) for name in ("title", "link", "description"))
CREATOR, DATE, SUBJECT = (NamedNode(DC + name) for name in ("creator", "date", "subject"))
PART_OF = NamedNode(DCTERMS + "isPartOf")

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_RELATION_NAME = re.compile(r"[a-z][a-z0-9.-]*\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Person(NamedTuple):
    name: str
    email: str = ""
    page: str = ""


class Category(NamedTuple):
    term: str
    scheme: str = ""
    label: str = ""


class Link(NamedTuple):
    relation: str
    target: str
    media_type: str = ""
    length: str = ""


class Feed(NamedTuple):
    """What an item's publication states of its feed; nothing that changes with every fetch."""

    iri: str
    title: str = ""
    link: str = ""


class FeedItem(NamedTuple):
    """An item of any format; empty text means absent."""

    id: str = ""
    title: str = ""
    link: str = ""
    description: str = ""
    content: tuple[str, ...] = ()
    language: str = ""
    rights: str = ""
    publisher: str = ""
    authors: tuple[Person, ...] = ()
    contributors: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    links: tuple[Link, ...] = ()
    source: Feed | None = None
    dates: tuple[tuple[str, str, str | None], ...] = ()
    """Name in Dublin Core terms (``issued``, ``modified``, ``created``), text as written, its xsd:dateTime or None."""
    places: tuple[tuple[str, str], ...] = ()
    """Predicate and text, as written."""
    faults: tuple[DocumentRejected, ...] = ()
    """Why some of it is left out."""


def absolute_iri(text: str) -> NamedNode | None:
    if not _ABSOLUTE.match(text):
        return None
    try:
        return NamedNode(text)
    except ValueError:
        return None


def identity(item: FeedItem, feed: str) -> str:
    """Return an item's identity (semantics 2.1): its id (Atom id, guid), else its link, or a hash of title and text."""
    own = item.id or item.link
    if not own:
        digest = sha256(f"{item.title}\0{item.description}".encode("utf-8", "replace")).hexdigest()
        return part_iri(feed, f"item-{digest[:16]}")
    return own if absolute_iri(own) else part_iri(feed, clean(own))


def describe(item: FeedItem, graph: str, feed: Feed) -> Iterator[Triple]:
    """Yield the triples of an item. Their subject is its link, which all formats have, else its identity."""
    subject = absolute_iri(item.link) or NamedNode(graph)
    texts = {
        TITLE: (item.title,),
        LINK: (item.link,),
        DESCRIPTION: (item.description,),
        CONTENT_ENCODED: item.content,
        CREATOR: tuple(person.name or person.email for person in item.authors),
        SUBJECT: tuple(category.term for category in item.categories),
    }
    yield from common_vocabulary(subject, texts, _date(item))
    yield from part_of(subject, feed)
    yield from _particulars(subject, item)


def common_vocabulary(
    subject: NamedNode | BlankNode, texts: Mapping[NamedNode, tuple[str, ...]], dates: Iterable[tuple[str, str | None]]
) -> Iterator[Triple]:
    """Yield what items of every format state; empty texts are left out. An invalid date stays a string."""
    yield Triple(subject, RDF_TYPE, ITEM)
    yield from _stated(subject, *((predicate, text) for predicate, given in texts.items() for text in given))
    for text, typed in dates:
        yield Triple(subject, DATE, dated(text, typed))


def part_of(subject: NamedNode | BlankNode, feed: Feed) -> Iterator[Triple]:
    whole = NamedNode(feed.iri)
    yield Triple(subject, PART_OF, whole)
    yield Triple(whole, RDF_TYPE, CHANNEL)
    yield from _stated(whole, (TITLE, feed.title), (LINK, feed.link))


def _stated(subject: NamedNode | BlankNode, *texts: tuple[NamedNode, str]) -> Iterator[Triple]:
    """Yield a triple for each text that is not empty."""
    return (Triple(subject, predicate, literal(text)) for predicate, text in texts if text)


def literal(text: str) -> Literal:
    return Literal(clean(text))


def dated(text: str, typed: str | None) -> Literal:
    return literal(text) if typed is None else Literal(typed, datatype=DATE_TIME)


def clean(text: str) -> str:
    """Replace half a character (a lone surrogate, from a numeric reference), which cannot be written, by U+FFFD."""
    return _SURROGATE.sub("�", text)


def _date(item: FeedItem) -> tuple[tuple[str, str | None], ...]:
    """Return the one date of an item: issued, else modified, else created."""
    by_name = {name: (text, typed) for name, text, typed in item.dates}
    return tuple(by_name[name] for name in ("issued", "modified", "created") if name in by_name)[:1]


def _particulars(subject: NamedNode, item: FeedItem) -> Iterator[Triple]:
    """Yield what only some formats state."""
    yield from _stated(
        subject,
        (NamedNode(DCTERMS + "identifier"), item.id),
        (NamedNode(DC + "language"), item.language),
        (NamedNode(DC + "rights"), item.rights),
        (NamedNode(DC + "publisher"), item.publisher),
        *((NamedNode(DC + "contributor"), contributor) for contributor in item.contributors),
        *((NamedNode(predicate), text) for predicate, text in item.places),
    )
    for name, text, typed in item.dates:
        yield Triple(subject, NamedNode(DCTERMS + name), dated(text, typed))
    for number, person in enumerate(item.authors):
        yield from _person(subject, person, BlankNode(f"author{number}"))
    for number, category in enumerate(item.categories):
        yield from _category(subject, category, BlankNode(f"category{number}"))
    for link in item.links:
        yield from _link(subject, link)
    if item.source and (source := absolute_iri(item.source.iri)):
        yield Triple(subject, NamedNode(DCTERMS + "source"), source)
        yield from _stated(source, (TITLE, item.source.title))


def _person(subject: NamedNode, person: Person, node: BlankNode) -> Iterator[Triple]:
    mailbox = absolute_iri(f"mailto:{person.email}") if person.email else None
    page = absolute_iri(person.page)
    if mailbox or page:
        yield Triple(subject, NamedNode(DCTERMS + "creator"), node)
        yield from _stated(node, (NamedNode(FOAF + "name"), person.name))
        if mailbox:
            yield Triple(node, NamedNode(FOAF + "mbox"), mailbox)
        if page:
            yield Triple(node, NamedNode(FOAF + "homepage"), page)


def _category(subject: NamedNode, category: Category, node: BlankNode) -> Iterator[Triple]:
    if not (category.scheme or category.label):
        return
    yield Triple(subject, NamedNode(DCTERMS + "subject"), node)
    yield Triple(node, RDF_TYPE, NamedNode(SKOS + "Concept"))
    notation, label = NamedNode(SKOS + "notation"), NamedNode(SKOS + "prefLabel")
    yield from _stated(node, (notation, category.term), (label, category.label))
    if category.scheme:
        scheme = absolute_iri(category.scheme)
        name = "inScheme" if scheme else "scopeNote"
        yield Triple(node, NamedNode(SKOS + name), scheme or literal(category.scheme))


def _link(subject: NamedNode, link: Link) -> Iterator[Triple]:
    target = absolute_iri(link.target)
    if target is None:
        return
    if link.relation == "enclosure":
        yield Triple(subject, NamedNode(ENCLOSURE + "enclosure"), target)
        kind, length = NamedNode(ENCLOSURE + "type"), NamedNode(ENCLOSURE + "length")
        yield from _stated(target, (kind, link.media_type), (length, link.length))
        return
    relation = absolute_iri(link.relation)
    if relation is None and _RELATION_NAME.match(link.relation):
        relation = NamedNode(RELATION + link.relation)
    if relation is not None:
        yield Triple(subject, relation, target)


_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?\s*(Z|z|[+-]\d\d:?\d\d)?)?)?)?\Z", re.ASCII
)

_LONGEST = 100
"""Most characters of a date."""


def date_time(text: str, parsed: time.struct_time | None = None) -> str | None:
    """Return the lexical form of an xsd:dateTime, or None for text that is no date.

    An ISO 8601 (W3C-DTF) date keeps its digits and zone; missing parts are the start of the year, month or day, and
    UTC. RFC 822 and 2822 dates keep their zone (``-0000`` and unknown names are UTC). Any other text is `parsed`, the
    feed parser's result, in UTC.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    return _from_w3c(text) or _from_rfc(text) or _from_parsed(parsed)


def _from_w3c(text: str) -> str | None:
    match = _W3C.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    numbers = [int(part or start) for part, start in zip(match.groups()[:6], "111000", strict=True)]
    if not _exists(numbers):
        return None
    written = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{fraction or ''}"
    zone = (zone or "Z").upper()
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    return written + zone if zone == "Z" or (zone[1:] <= "14:00" and zone[4:] <= "59") else None


def _from_rfc(text: str) -> str | None:
    try:
        fields = parsedate_tz(text)
    except (ValueError, IndexError, TypeError):  # it fails on some ill-formed dates
        return None
    if fields is None or not _exists(fields[:6]):
        return None
    offset = fields[9] or 0
    if offset % 60 or abs(offset) > 14 * 3600:
        return None
    moment = datetime(*fields[:6], tzinfo=timezone(timedelta(seconds=offset)))
    return _written(moment)


def _from_parsed(parsed: time.struct_time | None) -> str | None:
    if parsed is None or not _exists(parsed[:6]):
        return None
    return _written(datetime(*parsed[:6], tzinfo=UTC))


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _exists(numbers: list[int] | tuple[int, ...]) -> bool:
    """Whether the numbers, year to second, are a moment; XSD has no leap seconds."""
    try:
        datetime(*numbers)
    except (ValueError, OverflowError, TypeError):
        return False
    return numbers[0] > 0
