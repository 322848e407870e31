"""What a worker does with a batch, as functions from Arrow batches to Arrow batches that know nothing of Spark.

A *slice* is a range of journal positions and the manifest of the index that answers for it; documents do not travel,
a worker reads them from the journal. What comes back is one row for each run of publications, its columns the buffers
of an `OutboxBatch`: so 150,000 matches cost the JVM as little as ten.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from triplecast.delivery import OutboxBatch
from triplecast.evaluate import Evaluator
from triplecast.faults import reach
from triplecast.index import open_snapshot
from triplecast.match import Matcher
from triplecast.model.match import Undecided
from triplecast.pipeline.followed import followed_journal

INDEX = "index"
"""The index's folder inside the output folder."""

CHUNK = 256
"""Publications read and matched at a time."""
ROW_BYTES = 32 << 20
"""Bindings in one Arrow row, unless one pair alone has more: buffers in the JVM stay small."""

SLICES = pa.schema([("after", pa.int64()), ("upto", pa.int64()), ("manifest", pa.string())])
MATCHES = pa.schema(
    [
        ("after", pa.int64()),
        ("upto", pa.int64()),
        ("publications", pa.int64()),
        ("positions", pa.binary()),
        ("versions", pa.binary()),
        ("names", pa.binary()),
        ("publication", pa.binary()),
        ("registration", pa.binary()),
        ("offsets", pa.binary()),
        ("bindings", pa.binary()),
        ("undecided", pa.binary()),
    ]
)
"""Positions in (`after`, `upto`] are matched by this row and its neighbours of the same range; `publications` counts
those asked about. `names` and `undecided` are JSON, the other columns little-endian arrays with the types of
`OutboxBatch`.
"""


@dataclass(frozen=True, slots=True)
class MatchSlices:
    """The stage on one output folder, to give to ``mapInArrow``."""

    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return match_slices(Path(self.folder), batches)


def match_slices(folder: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`SLICES` in, `MATCHES` out: the matches of every publication of each slice, in order of position."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from match_slice(folder, row["manifest"], row["after"], row["upto"])


def match_slice(folder: Path, manifest: str, after: int, upto: int) -> Iterator[pa.RecordBatch]:
    """The matches of the publications at positions in (`after`, `upto`]; at least one row, also when there are none."""
    journal, matcher = followed_journal(folder), _matcher()
    snapshot = open_snapshot(folder / INDEX, manifest)
    told = False
    start = after
    while True:
        publications = journal.publications(start, upto, CHUNK)
        if not publications and told:
            return
        if publications:
            start = publications[-1].position
            batch = OutboxBatch.of(publications, matcher.match(snapshot, publications))
        else:
            batch = OutboxBatch.joined(())
        reach("pipeline.batch-matched")
        for index, piece in enumerate(cut(told_only(batch), ROW_BYTES)):
            yield to_arrow(piece, after, upto, len(publications) if index == 0 else 0)
        told = True
        if len(publications) < CHUNK:
            return


def told_only(batch: OutboxBatch) -> OutboxBatch:
    """The batch without the publications that nothing is told of."""
    told = np.unique(
        np.concatenate([batch.publication, np.array([pair.publication for pair in batch.undecided], np.int32)])
    )
    if len(told) == len(batch.positions):
        return batch
    kept = told.tolist()
    return OutboxBatch(
        batch.positions[told],
        tuple(batch.graphs[index] for index in kept),
        tuple(batch.versions[index] for index in kept),
        tuple(batch.accepted_at[index] for index in kept),
        np.searchsorted(told, batch.publication).astype(np.int32),
        batch.registration,
        batch.bindings_offsets,
        batch.bindings,
        tuple(
            Undecided(int(np.searchsorted(told, pair.publication)), pair.registration, pair.reason)
            for pair in batch.undecided
        ),
    )


def cut(batch: OutboxBatch, size: int) -> Iterator[OutboxBatch]:
    """The batch in pieces of whole publications with at most `size` bytes of bindings, or of one publication."""
    count = len(batch.positions)
    if batch.bindings_offsets[-1] <= size or count <= 1:
        yield batch
        return
    rows = np.searchsorted(batch.publication, np.arange(count + 1))
    ends = batch.bindings_offsets[rows]
    first = 0
    while first < count:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + size, side="right")) - 1)
        yield _publications(batch, first, last, rows[first], rows[last])
        first = last


def _publications(batch: OutboxBatch, first: int, last: int, start: int, end: int) -> OutboxBatch:
    offsets = batch.bindings_offsets[start : end + 1]
    return OutboxBatch(
        batch.positions[first:last],
        batch.graphs[first:last],
        batch.versions[first:last],
        batch.accepted_at[first:last],
        batch.publication[start:end] - np.int32(first),
        batch.registration[start:end],
        offsets - offsets[0],
        batch.bindings[offsets[0] : offsets[-1]],
        tuple(
            Undecided(pair.publication - first, pair.registration, pair.reason)
            for pair in batch.undecided
            if first <= pair.publication < last
        ),
    )


def to_arrow(batch: OutboxBatch, after: int, upto: int, publications: int) -> pa.RecordBatch:
    """One row of `MATCHES`."""
    columns = [
        batch.positions.astype("<i8"),
        np.array(batch.versions, "<i8"),
        json.dumps([batch.graphs, batch.accepted_at]).encode(),
        batch.publication.astype("<i4"),
        batch.registration.astype("<i8"),
        batch.bindings_offsets.astype("<i8"),
        batch.bindings[: batch.bindings_offsets[-1]],
        json.dumps([(pair.publication, pair.registration, pair.reason) for pair in batch.undecided]).encode(),
    ]
    buffers = [column if isinstance(column, bytes) else column.tobytes() for column in columns]
    values = [[after], [upto], [publications], *([buffer] for buffer in buffers)]
    arrays = [pa.array(value, field.type) for value, field in zip(values, MATCHES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=MATCHES)


def from_arrow(row: dict[str, bytes]) -> OutboxBatch:
    """The batch that `to_arrow` wrote."""
    graphs, accepted_at = json.loads(row["names"])
    return OutboxBatch(
        np.frombuffer(row["positions"], "<i8"),
        tuple(graphs),
        tuple(np.frombuffer(row["versions"], "<i8").tolist()),
        tuple(accepted_at),
        np.frombuffer(row["publication"], "<i4"),
        np.frombuffer(row["registration"], "<i8"),
        np.frombuffer(row["offsets"], "<i8"),
        np.frombuffer(row["bindings"], np.uint8),
        tuple(Undecided(*pair) for pair in json.loads(row["undecided"])),
    )


@lru_cache(maxsize=1)
def _matcher() -> Matcher:
    return Matcher(Evaluator())
