"""Describe a feed item in RDF, in the vocabulary that all feed formats share (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    """Return an item's identity (semantics 2.1): its id (Atom id, guid), else its link, else a hash of title and
    text."""
    own = item.id or item.link
    if not own:
        digest = sha256(f"{item.title}\0{item.description}".encode("utf-8", "replace")).hexdigest()
        return part_iri(feed, f"item-{digest[:16]}")
    return own if absolute_iri(own) else part_iri(feed, clean(own))


def describe(item: FeedItem, graph: str, feed: Feed) -> Iterator[Triple]:
    """Yield the triples of an item. Their subject is its link, which all formats have, else its identity."""
    subject = absolute_iri(item.link) or NamedNode(graph)
    yield from common_vocabulary(
        subject,
        titles=(item.title,),
        links=(item.link,),
        descriptions=(item.description,),
        contents=item.content,
        creators=tuple(person.name or person.email for person in item.authors),
        dates=_date(item),
        subjects=tuple(category.term for category in item.categories),
    )
    yield from part_of(subject, feed)
    yield from _particulars(subject, item)


def common_vocabulary(
    subject: NamedNode | BlankNode,
    *,
    titles: tuple[str, ...],
    links: tuple[str, ...],
    descriptions: tuple[str, ...],
    contents: tuple[str, ...],
    creators: tuple[str, ...],
    dates: tuple[tuple[str, str | None], ...],
    subjects: tuple[str, ...],
) -> Iterator[Triple]:
    """Yield what items of every format state; empty texts are left out. An invalid date stays a string."""
    yield Triple(subject, RDF_TYPE, ITEM)
    for predicate, texts in (
        (TITLE, titles),
        (LINK, links),
        (DESCRIPTION, descriptions),
        (CONTENT_ENCODED, contents),
        (CREATOR, creators),
        (SUBJECT, subjects),
    ):
        for text in texts:
            if text:
                yield Triple(subject, predicate, literal(text))
    for text, typed in dates:
        yield Triple(subject, DATE, dated(text, typed))


def part_of(subject: NamedNode | BlankNode, feed: Feed) -> Iterator[Triple]:
    whole = NamedNode(feed.iri)
    yield Triple(subject, PART_OF, whole)
    yield Triple(whole, RDF_TYPE, CHANNEL)
    if feed.title:
        yield Triple(whole, TITLE, literal(feed.title))
    if feed.link:
        yield Triple(whole, LINK, literal(feed.link))


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
    for name in ("issued", "modified", "created"):
        if name in by_name:
            return (by_name[name],)
    return ()


def _particulars(subject: NamedNode, item: FeedItem) -> Iterator[Triple]:
    """Yield what only some formats state."""
    for name, text in (
        (DCTERMS + "identifier", item.id),
        (DC + "language", item.language),
        (DC + "rights", item.rights),
        (DC + "publisher", item.publisher),
    ):
        if text:
            yield Triple(subject, NamedNode(name), literal(text))
    for contributor in item.contributors:
        yield Triple(subject, NamedNode(DC + "contributor"), literal(contributor))
    for name, text, typed in item.dates:
        yield Triple(subject, NamedNode(DCTERMS + name), dated(text, typed))
    for number, person in enumerate(item.authors):
        yield from _person(subject, person, BlankNode(f"author{number}"))
    for number, category in enumerate(item.categories):
        yield from _category(subject, category, BlankNode(f"category{number}"))
    for link in item.links:
        yield from _link(subject, link)
    for predicate, text in item.places:
        yield Triple(subject, NamedNode(predicate), literal(text))
    if item.source and (source := absolute_iri(item.source.iri)):
        yield Triple(subject, NamedNode(DCTERMS + "source"), source)
        if item.source.title:
            yield Triple(source, TITLE, literal(item.source.title))


def _person(subject: NamedNode, person: Person, node: BlankNode) -> Iterator[Triple]:
    mailbox = absolute_iri(f"mailto:{person.email}") if person.email else None
    page = absolute_iri(person.page)
    if mailbox or page:
        yield Triple(subject, NamedNode(DCTERMS + "creator"), node)
        if person.name:
            yield Triple(node, NamedNode(FOAF + "name"), literal(person.name))
        if mailbox:
            yield Triple(node, NamedNode(FOAF + "mbox"), mailbox)
        if page:
            yield Triple(node, NamedNode(FOAF + "homepage"), page)


def _category(subject: NamedNode, category: Category, node: BlankNode) -> Iterator[Triple]:
    if not (category.scheme or category.label):
        return
    yield Triple(subject, NamedNode(DCTERMS + "subject"), node)
    yield Triple(node, RDF_TYPE, NamedNode(SKOS + "Concept"))
    if category.term:
        yield Triple(node, NamedNode(SKOS + "notation"), literal(category.term))
    if category.label:
        yield Triple(node, NamedNode(SKOS + "prefLabel"), literal(category.label))
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
        if link.media_type:
            yield Triple(target, NamedNode(ENCLOSURE + "type"), literal(link.media_type))
        if link.length:
            yield Triple(target, NamedNode(ENCLOSURE + "length"), literal(link.length))
        return
    relation = absolute_iri(link.relation)
    if relation is None and _RELATION_NAME.match(link.relation):
        relation = NamedNode(RELATION + link.relation)
    if relation is not None:
        yield Triple(subject, relation, target)
