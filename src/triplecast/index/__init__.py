"""The index: immutable segments of flat arrays, built from plans, and the snapshots that name them."""

from triplecast.index.registrations import Removals
from triplecast.index.segment import Segment, build_segment, build_segments
from triplecast.index.segment_store import SegmentFolder, SegmentStore, open_snapshot
from triplecast.index.snapshot import Snapshot
from triplecast.index.structures import Anchor, RarestKey
from triplecast.index.writer import INDEX, IndexWriter

__all__ = [
    "INDEX",
    "Anchor",
    "IndexWriter",
    "RarestKey",
    "Removals",
    "Segment",
    "SegmentFolder",
    "SegmentStore",
    "Snapshot",
    "build_segment",
    "build_segments",
    "open_snapshot",
]
