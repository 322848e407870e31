"""The index: immutable segments of flat arrays, built from plans, and the snapshots that name them."""

from triplecast.index.anchors import Anchor, FirstWritten, NoFilter, RarestKey
from triplecast.index.folder import INDEX, IndexFolder
from triplecast.index.memory import MemoryIndex
from triplecast.index.removals import Removals
from triplecast.index.segment import Segment, build_segment, build_segments
from triplecast.index.segment_store import SegmentFolder, SegmentStore, open_snapshot
from triplecast.index.snapshot import Snapshot

__all__ = [
    "INDEX",
    "Anchor",
    "FirstWritten",
    "IndexFolder",
    "MemoryIndex",
    "NoFilter",
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
