"""The shard stage: what the visited shards find of a batch, and the one answer that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from triplecast.kernels.layout import I64
from triplecast.kernels.views import Views, take_views
from triplecast.match import Matcher
from triplecast.match.answer_limit import NO_ROOM, AnswerLimit
from triplecast.match.matcher import join_rows
from triplecast.match.views import scan_views
from triplecast.model.match import AnswerLimits, MatchedBatch, MatchStats
from triplecast.model.open_rows import join_open_rows
from triplecast.model.publication import Publication
from triplecast.partition.routing import Routing
from triplecast.partition.shards import Partition
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

NEARLY_ALL = 0.9
"""Of a batch: a shard that more have to visit is visited by all, which takes less than to sort them out."""


def views_of(scanned: Views, places: I64) -> Views:
    """The views of some publications of a batch, numbered anew."""
    if _are_first(places) and places[-1] >= scanned.publication[-1:].max(initial=-1):
        return scanned
    visiting = np.zeros(max(places[-1:].max(initial=-1), scanned.publication[-1:].max(initial=-1)) + 1, np.bool_)
    visiting[places] = True
    rows = np.flatnonzero(visiting[scanned.publication])
    views = scanned if len(rows) == len(scanned.publication) else take_views(scanned, rows)
    return views._replace(publication=np.searchsorted(places, views.publication).astype(np.int32))


def _are_first(places: I64) -> bool:
    """Whether ascending places are the first so many of a batch."""
    return bool(len(places) and places[-1] == len(places) - 1)


class ShardMatches(NamedTuple):
    """What one shard found."""

    places: I64
    """Of its publications in the batch, ascending."""
    matched: MatchedBatch


def match_shards(
    matcher: Matcher,
    routing: Routing,
    partition: Partition,
    publications: Sequence[Publication],
    taxonomies: Taxonomies = NO_TAXONOMIES,
) -> Iterator[tuple[Sequence[Publication], MatchedBatch]]:
    """What `Matcher.match_pieces` yields of the whole snapshot, from its shards; the work counted is what they did."""
    scanned = scan_views(publications)
    visits = routing.route(partition.routers, publications, taxonomies, scanned) | partition.always
    first = 0
    while first < len(publications) or not first:
        upto, found = len(publications), []
        for shard, snapshot in enumerate(partition.shards):
            places = first + np.flatnonzero(visits[first:upto] >> shard & 1)
            if len(places) > NEARLY_ALL * (upto - first):
                places = np.arange(first, upto)
            if len(places):
                some = [publications[place] for place in places.tolist()]
                pieces = matcher.match_pieces(snapshot, some, taxonomies, views_of(scanned, places))
                _, matched = next(pieces)
                done = matched.stats.publications
                if done < len(places):
                    upto = int(places[done])
                found.append(ShardMatches(places[:done] - first, matched))
        yield publications[first:upto], join_shards(found, publications[first:upto], matcher.limits)
        first = upto
        if not publications:
            return


def join_shards(
    found: Sequence[ShardMatches], publications: Sequence[Publication], limits: AnswerLimits
) -> MatchedBatch:
    """The answer for the first publications of a batch. What answers may take counts for all shards together."""
    limit, upto = AnswerLimit(limits.publication), len(publications)
    positions = np.array([each.position for each in publications], np.int64)
    parts, undecided, waiting, stats = [], [], [], MatchStats()
    for places, matched in found:
        mine = matched.rows
        if not _are_first(places):
            mine = mine._replace(publication=places.astype(np.int32)[mine.publication])
        parts.append(mine)
        for pair in matched.undecided:
            moved = replace(pair, publication=int(places[pair.publication]))
            if moved.reason == NO_ROOM:
                limit.note(moved.publication, moved.registration)
            else:
                undecided.append(moved)
        waiting.append(matched.open.only(np.flatnonzero(np.isin(matched.open.position, positions))))
        stats += matched.stats
    rows = limit.close(parts, upto)
    undecided = [pair for pair in [*undecided, *limit.undecided()] if pair.publication < upto]
    matches = sum(len(part.publication) for part in rows)
    stats = replace(stats, publications=upto, matches=matches, undecided=len(undecided))
    return join_rows(rows, undecided, join_open_rows(waiting), stats)
