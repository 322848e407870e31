"""The rows that travel between workers and driver, as Arrow batches, and how an `OutboxBatch` is cut into them.

Documents do not travel, a worker reads them from the journal. What comes back is one row for each run of publications,
its columns the buffers of an `OutboxBatch`: so 150,000 matches cost the JVM as little as ten.
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
from triplecast.model.match import Learnt, MatchStats
from triplecast.model.open_rows import PairReason
from triplecast.outbox import OpenPart, OutboxBatch
from triplecast.outbox.chunk import digests_of, read_chunk, write_chunk

_BUFFERS = ("work", "rows", "undecided", "awaited", "results", "learnt", "open")
MATCHES = pa.schema(
    [*((name, pa.int64()) for name in ("after", "upto", "left")), *((name, pa.binary()) for name in _BUFFERS)]
)
"""Positions in (`after`, `upto`] are matched by this row and its neighbours of the same range, but those beyond `left`,
which were left to another job because the answers took too much. `work` has the numbers of their `MatchStats`. `rows`
is a chunk as the outbox stores it; `undecided`, `awaited`, `results` (what operators gave), `learnt` are JSON, `open`
are `OpenPart`s.
"""

ROW_BYTES = 32 << 20
"""Bindings in one row, unless one publication alone has more: buffers in the JVM stay small."""
_PART = struct.Struct("<qqqq")


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
    first, *others = batch.cut(ROW_BYTES)
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
    left: int | None = None,
) -> pa.RecordBatch:
    """One row of `MATCHES`; nothing is `left` by default."""
    columns: list[NDArray[Any] | bytes] = [
        np.array(astuple(work), "<i8"),
        write_chunk(batch, digests_of(batch)),
        json.dumps(batch.undecided).encode(),
        json.dumps(batch.awaited).encode(),
        json.dumps([(*result[:-1], result.answer.decode()) for result in results]).encode(),
        json.dumps(learnt).encode(),
        b"".join([_PART.pack(*part[:3], len(part.body)) + part.body for part in open]),
    ]
    buffers = [column if isinstance(column, bytes) else column.tobytes() for column in columns]
    values = [[after], [upto], [upto if left is None else left], *([buffer] for buffer in buffers)]
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
    return read_chunk(row["rows"]).batch(
        tuple(PairReason(*pair) for pair in json.loads(row["undecided"])),
        tuple(PairReason(*pair) for pair in json.loads(row["awaited"])),
    )
