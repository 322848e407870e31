"""Parse XML documents: RDF/XML, RSS 1.0 or another feed, by media type and root element.

RSS 1.0 is split into one publication per item: its own triples, and those of the common vocabulary."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.document import DOCUMENT_PREFIX, Document, ParsedDocument
from triplecast.ingest.feed_item import (
    CHANNEL,
    CONTENT_ENCODED,
    CREATOR,
    DATE,
    DC,
    DCTERMS,
    DESCRIPTION,
    ITEM,
    LINK,
    RDF_TYPE,
    RSS,
    SUBJECT,
    TITLE,
    Feed,
    FeedItem,
    absolute_iri,
    common_vocabulary,
    date_time,
    identity,
    part_of,
)
from triplecast.ingest.feed_publications import publish_feed, publish_items
from triplecast.ingest.feeds import absolute_link, read_feed
from triplecast.ingest.gate import GateLimits
from triplecast.ingest.rdf import cut_at_roots, make_draft, parse_rdf, parse_triples, parsed_graphs, write_lines
from triplecast.ingest.xml_gate import RDF_NAMESPACE, XmlDocument, pass_xml
from triplecast.model.publication import Reject

_RSS_090 = re.compile(rb"""=["']http://(?:my|channel)\.netscape\.com/rdf/simple/0\.9/["']""")
"""RSS 0.90, RDF whose items have no IRI, is read as a feed."""
_MEMBER = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<rdf:li(\s+)(?=resource\s*=)", re.DOTALL)
"""``rdf:li`` with an unqualified ``resource``, as in RSS 1.0's own examples; comments and the like, which may hold the
same text, are matched whole."""
_FEED_ROOTS = frozenset(("rss", "feed", "channel", "RDF"))


def parse_xml(
    document: Document, media_type: str, charset: str | None, base: str, limits: GateLimits
) -> ParsedDocument:
    """Parse an XML document. Raises DocumentRejected."""
    xml = pass_xml(document.data, charset, limits)
    if xml.root.lower() == "html":
        raise _no_feed(xml)
    is_rdf = media_type == media_types.RDF_XML or (xml.root == "RDF" and xml.namespace == RDF_NAMESPACE)
    is_rdf = is_rdf and not (xml.root == "RDF" and _RSS_090.search(xml.data))
    if is_rdf and not xml.fault:
        try:
            return _parse_rdf_xml(document, xml, base, limits)
        except DocumentRejected as error:
            if error.stage != "parse" or RSS.encode() not in xml.data:
                raise
            xml = replace(xml, fault=error)  # XML but no RDF: the feed parser may find items
    if media_type == media_types.RDF_XML and xml.fault and RSS.encode() not in xml.data:
        raise xml.fault
    if media_type == media_types.XML and xml.root not in _FEED_ROOTS:
        raise xml.fault or _no_feed(xml)
    return _parse_feed(document, xml, base, limits)


def _parse_rdf_xml(document: Document, xml: XmlDocument, base: str, limits: GateLimits) -> ParsedDocument:
    if RSS.encode() not in xml.data or document.dataset:
        graphs = parse_rdf(xml.data, media_types.RDF_XML, base, document.dataset, limits, document.split)
        return parsed_graphs(document, graphs)
    triples = _feed_triples(xml.data, base, limits)
    if describes_feed(triples):
        feed = feed_iri(triples, base, named=document.graph is not None)
        base = feed if document.graph is None else base
        items = ((item_identity(subject, own, base), own) for subject, own in item_triples(triples, feed))
        return publish_items(document.source, items, xml.data, limits)
    lines = write_lines(triples, len(xml.data) + len(base), limits, dataset=False)
    if document.split is not None:
        return parsed_graphs(document, cut_at_roots(base, lines, document.split, xml.data, limits))
    return ParsedDocument((make_draft(base, lines, xml.data, limits),))


def _feed_triples(data: bytes, base: str, limits: GateLimits) -> list[Triple]:
    """Parse RDF/XML that names RSS 1.0; ``resource`` of ``rdf:li`` may replace ``rdf:resource``."""
    try:
        return parse_triples(data, media_types.RDF_XML, base, limits)
    except DocumentRejected:
        qualified = _MEMBER.sub(lambda found: found[0] + b"rdf:" if found[1] else found[0], data)
        if qualified == data:
            raise
    return parse_triples(qualified, media_types.RDF_XML, base, limits)


def _parse_feed(document: Document, xml: XmlDocument, base: str, limits: GateLimits) -> ParsedDocument:
    feed, items, is_feed = read_feed(xml.feed, base, named=document.graph is not None)
    if not items and xml.fault:
        raise xml.fault
    if not is_feed:
        raise _no_feed(xml)
    parsed = publish_feed(document.source, feed, items, xml.data, limits, xml.has_more)
    rejects = [*parsed.rejects]
    if xml.fault:
        reason = f"{xml.fault.reason}; items published: {len(parsed.drafts)}"
        rejects.insert(0, Reject(document.source, "feed", reason, xml.fault.hint, xml.fault.line, xml.fault.column))
    return ParsedDocument(parsed.drafts, tuple(rejects))


def _no_feed(xml: XmlDocument) -> DocumentRejected:
    page = " (it is an HTML page)" if xml.root.lower() == "html" else ""
    reason = f"the root element is <{xml.root}>{page}, not that of RDF/XML, RSS or Atom"
    return DocumentRejected("gate", reason, "send RDF/XML (rdf:RDF), RSS (rss, rdf:RDF) or Atom (feed)")


_FURNITURE = frozenset(NamedNode(RSS + name) for name in ("image", "textinput"))
_DATES = (DATE, *(NamedNode(DCTERMS + name) for name in ("issued", "date", "modified", "created")))

Described = dict[NamedNode | BlankNode, list[Triple]]


def describes_feed(triples: Sequence[Triple]) -> bool:
    """Whether RDF/XML is an RSS 1.0 feed: it has a channel, perhaps without items."""
    return bool(_of_type(triples, CHANNEL))


def feed_iri(triples: Sequence[Triple], base: str, named: bool) -> str:
    """Return the channel's `rdf:about`; without one, `base` if the feed came with that address (`named`), else the
    channel's link if it is absolute. An `rdf:about` completed with a document's name does not count."""
    for channel in _of_type(triples, CHANNEL):
        if isinstance(channel, NamedNode) and not channel.value.startswith(DOCUMENT_PREFIX):
            return channel.value
        links = _texts([t for t in triples if t.subject == channel], LINK)
        return base if named else next((link for link in links if absolute_iri(link)), base)
    return base


def item_triples(triples: Sequence[Triple], feed: str) -> Iterator[tuple[NamedNode | BlankNode, list[Triple]]]:
    """Yield each item of the feed with IRI `feed` and its triples, in document order.

    They are those about the item and about what it refers to, but not about other items, channels, images and text
    inputs. Of the feed only title and link are kept, since the rest changes at each fetch.
    """
    described: Described = {}
    for triple in triples:
        if isinstance(triple.subject, NamedNode | BlankNode):
            described.setdefault(triple.subject, []).append(triple)
    items = _of_type(triples, ITEM)
    stops = {*items, *_of_type(triples, CHANNEL, *_FURNITURE)}
    whole = _feed(triples, described, feed)
    for subject in items:
        own = _closure(subject, described, stops)
        own += [*_common(subject, described[subject]), *part_of(subject, whole)]
        yield subject, own


def item_identity(subject: NamedNode | BlankNode, own: Sequence[Triple], base: str) -> str:
    """Return an item's ``rdf:about``, or else its identity as in other formats; never its place, which changes."""
    if isinstance(subject, NamedNode):
        return subject.value
    about = [triple for triple in own if triple.subject == subject]
    title, link, description = ("".join(_texts(about, name)[:1]) for name in (TITLE, LINK, DESCRIPTION))
    return identity(FeedItem(title=title, link=absolute_link(link, base), description=description), base)


def _closure(item: NamedNode | BlankNode, described: Described, stops: Container[object]) -> list[Triple]:
    reached: dict[NamedNode | BlankNode, None] = {item: None}
    waiting = [item]
    found: list[Triple] = []
    while waiting:
        for triple in described.get(waiting.pop(), ()):
            found.append(triple)
            target = triple.object
            if isinstance(target, NamedNode | BlankNode) and target not in reached and target not in stops:
                reached[target] = None
                waiting.append(target)
    return found


def _common(subject: NamedNode | BlankNode, own: list[Triple]) -> Iterator[Triple]:
    dates = [text for name in _DATES for text in _texts(own, name)][:1]
    texts = {
        TITLE: _texts(own, TITLE) or _texts(own, NamedNode(DC + "title")),
        LINK: _texts(own, LINK) or ((subject.value,) if isinstance(subject, NamedNode) else ()),
        DESCRIPTION: _texts(own, DESCRIPTION) or _texts(own, NamedNode(DC + "description")),
        **{name: _texts(own, name) for name in (CONTENT_ENCODED, CREATOR, SUBJECT)},
    }
    return common_vocabulary(subject, texts, tuple((text, date_time(text)) for text in dates))


def _of_type(triples: Sequence[Triple], *types: NamedNode) -> list[NamedNode | BlankNode]:
    """List the subjects of these types once, in order."""
    typed = (t.subject for t in triples if t.predicate == RDF_TYPE and t.object in types)
    return [node for node in dict.fromkeys(typed) if isinstance(node, NamedNode | BlankNode)]


def _feed(triples: Sequence[Triple], described: Described, iri: str) -> Feed:
    own = [triple for channel in _of_type(triples, CHANNEL)[:1] for triple in described.get(channel, ())]
    return Feed(iri, "".join(_texts(own, TITLE)[:1]), "".join(_texts(own, LINK)[:1]))


def _texts(own: list[Triple], predicate: NamedNode) -> tuple[str, ...]:
    return tuple(
        triple.object.value.strip()
        for triple in own
        if triple.predicate == predicate and isinstance(triple.object, Literal)
    )
