"""Split RSS 1.0 into one publication per item: its own triples, and those of the common vocabulary."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast.ingest.document import DOCUMENT_PREFIX
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
from triplecast.ingest.feeds import absolute_link

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
