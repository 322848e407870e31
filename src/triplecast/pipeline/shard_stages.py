"""The two stages of a batch over shards: the index stage reads, scans and routes each range of positions once, and the
shard stage matches what it sends. What travels are scanned publications, once to each group of shards that some of them
visit, in order of position.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from triplecast.journal import BYTES_AT_ONCE
from triplecast.journal.interface import MatchingReader
from triplecast.kernels.layout import I64
from triplecast.kernels.scan import lay_out
from triplecast.kernels.views import Views
from triplecast.match.views import scan_views
from triplecast.model.events import DocumentEvent
from triplecast.model.match import MatchStats
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxBatch
from triplecast.partition.matching import views_of
from triplecast.pipeline.rows import to_arrow
from triplecast.pipeline.sharding import ROUTERS, open_index_stage, open_shard
from triplecast.pipeline.stages import CHUNK, MatchSlice, SliceAnswers, Stage, open_slice

_NONE = np.zeros(0, np.int64)
_PROTOCOL = pickle.HIGHEST_PROTOCOL
Key = tuple[int, int, int]
"""The group of shards, the slice's first position and the chunk's: how routed chunks are spread and sorted."""


class RoutedChunk(NamedTuple):
    """Events of a slice, as one group of shards needs them."""

    slice: MatchSlice
    after: int
    """Positions from there on."""
    events: Sequence[DocumentEvent] = ()
    """All, without attachments; the publications that visit none of the group's shards without their texts."""
    visits: I64 = _NONE
    """By publication, bit k: shard k has to be visited."""
    views: Views | None = None
    """Of those that visit some, with their texts left out."""


def route_slice(stage: Stage, groups: int, slice: MatchSlice) -> Iterator[tuple[Key, bytes]]:
    """The index stage: scan and route a slice's publications. Yield chunks for the groups that need them; shard k is in
    group k modulo `groups`, and the first group needs all."""
    journal, index_stage = open_slice(stage, slice._replace(shard=ROUTERS), open_index_stage)
    start = slice.after
    of_group = [sum(1 << shard for shard in range(group, stage.shards, groups)) for group in range(groups)]
    while events := journal.documents(start, slice.upto, CHUNK, BYTES_AT_ONCE):
        publications = [each for each in events if isinstance(each, Publication)]
        scanned = scan_views(publications)
        taxonomies = journal.taxonomies(start, events[-1].position)
        visits = index_stage.visits(publications, taxonomies, scanned)
        replaces = any(each.former for each in events)
        for group, bits in enumerate(of_group):
            mine = visits & (bits - (1 << 64) if bits >> 63 else bits)
            if not group or replaces or mine.any():
                chunk = _cut(slice, start, events, publications, mine, scanned)
                yield (group, slice.after, start), pickle.dumps(chunk, _PROTOCOL)
        start = events[-1].position
    if start == slice.after:
        yield (0, start, start), pickle.dumps(RoutedChunk(slice._replace(carried=None), start), _PROTOCOL)


def _cut(
    slice: MatchSlice,
    after: int,
    events: Sequence[DocumentEvent],
    publications: Sequence[Publication],
    visits: I64,
    scanned: Views,
) -> RoutedChunk:
    places = np.flatnonzero(visits)
    views = views_of(scanned, places)
    lengths = np.array([len(each.quads) for each in publications], np.int64)
    before = np.cumsum(lengths) - lengths
    kept = np.cumsum(lengths[places]) - lengths[places]
    moved = (before[places] - kept)[views.publication]
    first = np.append(True, np.diff(views.publication) != 0)[: len(moved)]
    start = views.terms.start - np.repeat(moved[first], views.spans[first, 1])
    views = views._replace(terms=views.terms._replace(text=np.zeros(0, np.uint8), start=start))
    named = {int(publications[place].position) for place in places.tolist()}
    some = [_without_texts(each, each.position in named) for each in events]
    carried = slice.carried and slice.carried.between(after, events[-1].position)._replace(events=())
    return RoutedChunk(slice._replace(carried=carried), after, some, visits, views)


def _without_texts(event: DocumentEvent, visits: bool) -> DocumentEvent:
    """Attachments are read where operators are called."""
    if isinstance(event, Publication):
        return event._replace(quads=event.quads if visits else b"", attachments=())
    return event


def match_routed(stage: Stage, groups: int, chunks: Iterable[tuple[Key, bytes]]) -> Iterator[pa.RecordBatch]:
    """The shard stage: match the chunks of one group of shards, sorted by their keys. Yield `MATCHES`; of the first
    group one row at least for each slice."""
    answers: dict[tuple[int, int], tuple[MatchingReader, SliceAnswers]] = {}
    for (group, _, _), written in chunks:
        chunk: RoutedChunk = pickle.loads(written)
        if chunk.views is None:
            yield to_arrow(OutboxBatch.joined(()), chunk.slice.after, chunk.slice.upto, MatchStats())
            continue
        publications = [each for each in chunk.events if isinstance(each, Publication)]
        visiting = np.flatnonzero(chunk.visits)
        text, _ = lay_out([publications[place].quads for place in visiting.tolist()])
        views = chunk.views._replace(terms=chunk.views.terms._replace(text=text))
        replaces = any(each.former for each in chunk.events)
        for shard in range(group, stage.shards, groups):
            rows = np.flatnonzero(chunk.visits[visiting] >> shard & 1)
            if not (len(rows) or replaces or shard == 0):
                continue
            key = chunk.slice.after, shard
            if key not in answers:
                mine = chunk.slice._replace(shard=shard)
                journal, snapshot = open_slice(stage, mine, open_shard)
                answers[key] = journal, SliceAnswers(stage, mine, journal, snapshot)
            journal, found = answers[key]
            some = [publications[place] for place in visiting[rows].tolist()]
            taxonomies = journal.taxonomies(chunk.after, chunk.events[-1].position)
            yield from found.add(chunk.after, chunk.events, some, taxonomies, views_of(views, rows))
