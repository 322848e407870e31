"""The index stage: which shards a publication has to visit.

Its entries are conditions that every match behind them fulfils, so a shard that no entry leads to has no match. A key
of constants is an entry of a directory, five bytes in all. Any other is a structure of an ordinary segment, so words,
marks, closures and joins need nothing of their own here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment
from triplecast.index.members import MemberArrays
from triplecast.index.merge import translate
from triplecast.index.segment import index_members
from triplecast.index.structures import RarestKey
from triplecast.kernels.build import ALWAYS
from triplecast.kernels.directory import Directory, build_directory, route_views
from triplecast.kernels.layout import I32, I64, STRUCTURE_GROUPS, STRUCTURE_PLAIN
from triplecast.kernels.views import Views
from triplecast.match.entailed import ClosureCache
from triplecast.match.segment import EncodedBatch, Scratch, encode_batch, match_runs, publications_of
from triplecast.match.views import scan_views, views_between
from triplecast.model.entailment import EntailmentMode
from triplecast.model.publication import Publication
from triplecast.partition.items import RoutedItems, find_synthetic
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

WIDE_SUBJECTS, WIDE_TRIPLES = 64, 10_000
"""A publication with more of either visits every shard behind entries with joins: these may find nothing where what is
behind them exceeds its steps, and *undecided* is an answer too (decision 34)."""


class IndexedEntries(NamedTuple):
    """Entries that are structures."""

    segment: Segment
    leads: I64
    """[members] bit k: to shard k."""
    by_keys: bool
    """`RoutedItems.by_keys`."""


class Router(NamedTuple):
    """The entries of one segment's subscriptions."""

    directory: Directory | None
    indexed: IndexedEntries | None
    always: int = 0
    """The shards of what every publication may match: bit k for shard k."""

    @property
    def entries(self) -> int:
        hashed = 0 if self.directory is None else np.count_nonzero(self.directory.slots)
        return int(hashed) + (0 if self.indexed is None else len(self.indexed.leads))

    @property
    def bytes(self) -> int:
        """What they take in memory."""
        arrays = [] if self.directory is None else [*self.directory]
        if self.indexed is not None:
            tables = self.indexed.segment.tables
            arrays += [*tables.index, *tables.dictionary, *tables.answers, self.indexed.leads]
        return sum(int(np.asarray(array).nbytes) for array in arrays)


def build_router(segment: Segment, entries: RoutedItems) -> Router:
    """Index entries that are written in the numbers of the segment's dictionary: keys of constants in a directory,
    where publications are read as they are."""
    keys, always = _split(segment, entries)
    directory = _build_directory(segment, entries.only(keys)) if keys.any() else None
    rest = entries.only(~keys & ~always)
    everywhere = int(np.bitwise_or.reduce(entries.leads[always])) if always.any() else 0
    return Router(directory, _index_entries(segment, rest) if len(rest.leads) else None, everywhere)


def _split(segment: Segment, entries: RoutedItems) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which entries a directory can have, and which every publication has."""
    if not entries.by_keys:
        return np.zeros(len(entries.leads), np.bool_), np.zeros(len(entries.leads), np.bool_)
    keys = entries.items.patterns
    always = keys[:, 0] == ALWAYS
    if segment.mode is not EntailmentMode.PLAIN:
        return np.zeros(len(keys), np.bool_), always
    synthetic = np.append(find_synthetic(segment), 0)[np.maximum(keys[:, 1], -1)].astype(np.bool_)
    return ~always & ~synthetic, always


def _build_directory(segment: Segment, entries: RoutedItems) -> Directory:
    constant = entries.items.patterns >= 0
    hashes = segment.tables.dictionary.hashes[np.where(constant, entries.items.patterns, 0)]
    masks = (constant * np.array([1, 2, 4])).sum(axis=1).astype(np.uint8)
    return build_directory(np.where(constant, hashes, np.uint64(0)), masks, entries.leads)


def _index_entries(segment: Segment, entries: RoutedItems) -> IndexedEntries:
    ids: dict[bytes, int] = {}
    items = entries.items._replace(**translate(segment, entries.items, ids))
    count = len(entries.leads)
    undecided = np.full(count, -1, np.int32)
    members = MemberArrays(np.arange(1, count + 1, dtype=np.int64), items, tuple(ids), undecided, (), {}, ())
    return IndexedEntries(index_members(members, RarestKey(), segment.mode), entries.leads, entries.by_keys)


class Routing:
    """Routes batches; keeps scratch from one to the next. For one thread at a time."""

    def __init__(self) -> None:
        self._scratch: WeakKeyDictionary[Segment, Scratch] = WeakKeyDictionary()
        self._closures = ClosureCache()

    def route(
        self,
        routers: Sequence[Router],
        publications: Sequence[Publication],
        taxonomies: Taxonomies = NO_TAXONOMIES,
        scanned: Views | None = None,
    ) -> I64:
        """[publications] bit k: shard k has to be visited for the routers' segments. `scanned`: as `scan_views` reads
        the publications."""
        views = scan_views(publications) if scanned is None else scanned
        visits = np.zeros(len(publications), np.int64)
        for router in routers:
            visits |= router.always
            if router.directory is not None:
                np.bitwise_or.at(visits, views.publication, route_views(router.directory, views, 0))
        indexed = [router.indexed for router in routers if router.indexed is not None]
        segments = [entries.segment for entries in indexed]
        for number, read in self._read(segments, publications, taxonomies, views):
            entries = indexed[number]
            publication, entry = self._find(read)
            np.bitwise_or.at(visits, publication, entries.leads[entry])
            everywhere = list(read.too_large)
            if not entries.by_keys:
                everywhere += _wide(read.views, publications)
            visits[everywhere] |= np.bitwise_or.reduce(entries.leads)
        return visits

    def find(
        self, segment: Segment, publications: Sequence[Publication], taxonomies: Taxonomies = NO_TAXONOMIES
    ) -> tuple[I32, I32]:
        """Pairs of publications and the members of a segment whose conditions they fulfil."""
        views = scan_views(publications)
        found = [self._find(read) for _, read in self._read([segment], publications, taxonomies, views)]
        publication, member = (np.concatenate([*column, np.zeros(0, np.int32)]) for column in zip(*found, strict=True))
        return publication, member

    def _read(
        self, segments: Sequence[Segment], publications: Sequence[Publication], taxonomies: Taxonomies, views: Views
    ) -> Iterator[tuple[int, EncodedBatch]]:
        """The publications as each segment, by number, sees them."""
        for first, last, taxonomy in taxonomies.runs(publications) if segments else ():
            plain = views_between(views, first, last)
            entailed = self._closures.entail(segments, taxonomy, plain)
            yield from enumerate(encode_batch(segments, plain, entailed))

    def _find(self, read: EncodedBatch) -> tuple[I32, I32]:
        """Pairs of publications and the entries that they have; those whose join exceeds its steps count."""
        scratch = self._scratch.get(read.segment)
        if scratch is None:
            scratch = self._scratch[read.segment] = Scratch(read.segment)
        matched = match_runs(read.segment, read.encoded, scratch)
        publication, entry = publications_of(read.views, matched), matched.subscription
        if not len(matched.exhausted):
            return publication, entry
        lost = [_entries_of(read.segment, structure) for structure in matched.exhausted[:, 1].tolist()]
        of = np.repeat(read.views.publication[matched.exhausted[:, 0]], [len(each) for each in lost])
        return np.concatenate([publication, of]), np.concatenate([entry, *lost])


def _entries_of(segment: Segment, structure: int) -> I32:
    index = segment.tables.index
    row, end = index.structures[structure], index.structures[structure + 1]
    conditional = index.entries[index.groups[row[STRUCTURE_GROUPS], 1] : index.groups[end[STRUCTURE_GROUPS], 1]]
    return np.concatenate([index.plain[row[STRUCTURE_PLAIN] : end[STRUCTURE_PLAIN]], conditional])


def _wide(views: Views, publications: Sequence[Publication]) -> list[int]:
    """The publications of views that are wide, or datasets, whose parts are matched apart."""
    sizes = np.diff(views.offsets)
    new = np.append(True, np.diff(views.triples[:, 0]) != 0)[: len(views.triples)]
    subjects = np.diff(np.append(0, np.cumsum(new))[views.offsets])
    wide = (sizes > WIDE_TRIPLES) | (subjects >= WIDE_SUBJECTS)
    of: list[int] = views.publication[wide].tolist()
    return of + [place for place in np.unique(views.publication).tolist() if publications[place].dataset]
