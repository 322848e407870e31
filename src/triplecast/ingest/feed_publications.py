"""Make the publications of a feed's items, whatever format it came in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import Triple

from triplecast.errors import DocumentRejected
from triplecast.ingest.document import ParsedDocument
from triplecast.ingest.feed_item import Feed, FeedItem, describe, identity
from triplecast.ingest.gate import GateLimits
from triplecast.ingest.rdf import make_draft, write_lines
from triplecast.model.printable import shortened
from triplecast.model.publication import Draft, Reject


def publish_feed(
    source: str, feed: Feed, items: Sequence[FeedItem], data: bytes, limits: GateLimits, has_more: bool = False
) -> ParsedDocument:
    """Return a publication for each item, and a reject for the first error of each."""
    graphs = [identity(item, feed.iri) for item in items]
    described = ((graph, list(describe(item, graph, feed))) for graph, item in zip(graphs, items, strict=True))
    parsed = publish_items(source, described, data, limits, has_more)
    return ParsedDocument(parsed.drafts, (*parsed.rejects, *_faults_of_items(source, graphs, items)))


def publish_items(
    source: str, items: Iterable[tuple[str, list[Triple]]], data: bytes, limits: GateLimits, has_more: bool = False
) -> ParsedDocument:
    """Keep the first item of each identity; another one with other content is a reject, and so is one that exceeds a
    limit by itself: its neighbours need not. `has_more`: items after these were cut off."""
    kept: dict[str, Draft] = {}
    rejects: list[Reject] = []
    room = limits.expanded_bytes
    for graph, triples in items:
        draft: Draft | None = None
        try:
            draft = make_draft(graph, write_lines(triples, len(data), limits, dataset=False), data, limits)
        except DocumentRejected as error:
            fault = error
        if graph in kept:
            if draft is None or kept[graph].digest != draft.digest:
                reason = f"a second item has the id {shortened(graph, 201)} and other content; the first is published"
                rejects.append(Reject(source, "feed", reason, "give every item its own id (guid, atom:id, rdf:about)"))
            continue
        room -= limits.term_bytes if draft is None else len(draft.quads)
        if len(kept) == limits.publications or room < 0:
            has_more = True
            break
        if draft is None:
            reason = f"the item {shortened(graph, 201)} is left out: {fault.reason}"
            rejects.append(Reject(source, fault.stage, reason, fault.hint))
        else:
            kept[graph] = draft
    if has_more:
        bounds = f"{limits.publications} items or {limits.expanded_bytes} bytes written out"
        reason = f"the feed has more than {bounds}; the items before are published"
        rejects.append(Reject(source, "gate", reason, "split the feed"))
    return ParsedDocument(tuple(kept.values()), tuple(rejects))


def _faults_of_items(source: str, graphs: Sequence[str], items: Sequence[FeedItem]) -> Iterable[Reject]:
    """Yield a reject for the first error of each item."""
    for graph, item in zip(graphs, items, strict=True):
        for fault in item.faults[:1]:
            more = len(item.faults) - 1
            reason = f"the item {graph[:200]} is published without a place: {fault.reason}"
            reason += f" (and {more} more)" if more else ""
            yield Reject(source, fault.stage, reason, fault.hint, fault.line, fault.column)
