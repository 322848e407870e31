"""The rows that travel between workers and driver, as Arrow batches, and how an `OutboxBatch` is cut into them.

A *slice* is a range of journal positions and the manifest of the index that answers for it; documents do not travel,
a worker reads them from the journal. What comes back is one row for each run of publications, its columns the buffers
of an `OutboxBatch`: so 150,000 matches cost the JVM as little as ten.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from triplecast.model.answers import OperatorResult
from triplecast.model.match import Awaited, Learnt, MatchStats, Undecided
from triplecast.outbox import OpenPart, OutboxBatch

SLICES = pa.schema([("after", pa.int64()), ("upto", pa.int64()), ("manifest", pa.string())])
MATCHES = pa.schema(
    [
        ("after", pa.int64()),
        ("upto", pa.int64()),
        ("work", pa.binary()),
        ("positions", pa.binary()),
        ("versions", pa.binary()),
        ("names", pa.binary()),
        ("publication", pa.binary()),
        ("registration", pa.binary()),
        ("offsets", pa.binary()),
        ("bindings", pa.binary()),
        ("change", pa.binary()),
        ("undecided", pa.binary()),
        ("awaited", pa.binary()),
        ("results", pa.binary()),
        ("learnt", pa.binary()),
        ("open", pa.binary()),
    ]
)
"""Positions in (`after`, `upto`] are matched by this row and its neighbours of the same range; `work` has the numbers
of their `MatchStats`. `names`, `undecided`, `awaited`, `results` (what operators gave), `learnt` are JSON, `open` are
`OpenPart`s, the other columns little-endian arrays with the types of `OutboxBatch`.
"""

ROW_BYTES = 32 << 20
"""Bindings in one row, unless one publication alone has more: buffers in the JVM stay small."""
_PART = struct.Struct("<qqqq")
_SPARK_TYPES = {pa.int64(): "bigint", pa.string(): "string", pa.binary(): "binary"}


def spark_schema(schema: pa.Schema) -> str:
    """The same columns in Spark's words."""
    return ", ".join(f"{field.name} {_SPARK_TYPES[field.type]}" for field in schema)


def drop_empty(batch: OutboxBatch) -> OutboxBatch:
    """Return the batch without the publications that have no match, no undecided and no open pair."""
    named = [*(pair.publication for pair in batch.undecided), *(pair.publication for pair in batch.awaited)]
    kept_at = np.unique(np.concatenate([batch.publication, np.array(named, np.int32)]))
    if len(kept_at) == len(batch.positions):
        return batch
    kept = kept_at.tolist()
    place = {index: number for number, index in enumerate(kept)}
    return OutboxBatch(
        batch.positions[kept_at],
        tuple(batch.graphs[index] for index in kept),
        tuple(batch.versions[index] for index in kept),
        tuple(batch.accepted_at[index] for index in kept),
        np.searchsorted(kept_at, batch.publication).astype(np.int32),
        batch.registration,
        batch.bindings_offsets,
        batch.bindings,
        tuple(Undecided(place[pair.publication], pair.registration, pair.reason) for pair in batch.undecided),
        tuple(pair._replace(publication=place[pair.publication]) for pair in batch.awaited),
        batch.change,
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
        yield batch.part(first, last)
        first = last


def to_rows(
    batch: OutboxBatch,
    after: int,
    upto: int,
    work: MatchStats,
    results: Sequence[OperatorResult] = (),
    learnt: Sequence[Learnt] = (),
    open: Sequence[OpenPart] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield `MATCHES` rows for positions in (`after`, `upto`]; only the first one carries what is not of a pair."""
    first, *others = cut(drop_empty(batch), ROW_BYTES)
    yield to_arrow(first, after, upto, work, results, learnt, open)
    for piece in others:
        yield to_arrow(piece, after, upto, MatchStats())


def to_arrow(
    batch: OutboxBatch,
    after: int,
    upto: int,
    work: MatchStats,
    results: Sequence[OperatorResult] = (),
    learnt: Sequence[Learnt] = (),
    open: Sequence[OpenPart] = (),
) -> pa.RecordBatch:
    """One row of `MATCHES`."""
    columns: list[NDArray[Any] | bytes] = [
        np.array(astuple(work), "<i8"),
        batch.positions.astype("<i8"),
        np.array(batch.versions, "<i8"),
        json.dumps([batch.graphs, batch.accepted_at]).encode(),
        batch.publication.astype("<i4"),
        batch.registration.astype("<i8"),
        batch.bindings_offsets.astype("<i8"),
        batch.bindings[: batch.bindings_offsets[-1]],
        batch.change,
        json.dumps([(pair.publication, pair.registration, pair.reason) for pair in batch.undecided]).encode(),
        json.dumps(batch.awaited).encode(),
        json.dumps([(*result[:-1], result.answer.decode()) for result in results]).encode(),
        json.dumps(learnt).encode(),
        b"".join([_PART.pack(*part[:3], len(part.body)) + part.body for part in open]),
    ]
    buffers = [column if isinstance(column, bytes) else column.tobytes() for column in columns]
    values = [[after], [upto], *([buffer] for buffer in buffers)]
    arrays = [pa.array(value, field.type) for value, field in zip(values, MATCHES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=MATCHES)


def work_of(row: Mapping[str, Any]) -> MatchStats:
    return MatchStats(*np.frombuffer(row["work"], "<i8").tolist())


def results_of(row: Mapping[str, Any]) -> list[OperatorResult]:
    return [
        OperatorResult(position, operator, version, tuple(arguments), answer.encode())
        for position, operator, version, arguments, answer in json.loads(row["results"])
    ]


def learnt_of(row: Mapping[str, Any]) -> list[Learnt]:
    return [Learnt(*fields) for fields in json.loads(row["learnt"])]


def parts_of(row: Mapping[str, Any]) -> list[OpenPart]:
    """The open rows to store."""
    found, start, body = [], 0, row["open"]
    while start < len(body):
        after, upto, form, length = _PART.unpack_from(body, start)
        start += _PART.size + length
        found.append(OpenPart(after, upto, form, body[start - length : start]))
    return found


def from_arrow(row: Mapping[str, Any]) -> OutboxBatch:
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
        tuple(Awaited(*pair) for pair in json.loads(row["awaited"])),
        np.frombuffer(row["change"], np.uint8),
    )
