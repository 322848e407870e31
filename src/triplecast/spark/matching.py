"""`match`: a DataFrame of documents to a DataFrame of matches, through the stages of `triplecast match`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from triplecast.ingest.document_files import read_schema_files, read_taxonomy_files
from triplecast.journal import Clock, read_clock, system_clock, time_text
from triplecast.languages.roots import read_split
from triplecast.model.operators import SCHEDULE, check_schedule
from triplecast.model.publication import Draft, Position, Publication
from triplecast.offline import MatchedDocuments, match_whole
from triplecast.operators.operator_set import Declared, operator_set
from triplecast.spark.compiled import Compiled, open_compiled
from triplecast.spark.documents import documents_of, select_documents
from triplecast.spark.subscriptions import CarriedSubscriptions, carry_subscriptions, paths_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from triplecast.spark.subscriptions import Given

COLUMNS = ("publication", "subscription", "bindings", "undecided", "rejected")
"""Texts. Of a match, `bindings` is JSON: a list of objects from variable to the N-Triples form of its term. Of a pair
that was not decided, `undecided` is the reason; of a document that was rejected, `rejected` is, and `publication` its
name."""
_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
_DDL = ", ".join(f"{name} STRING" for name in COLUMNS)
BATCH_BYTES = 16 << 20
"""Of bindings, after which a batch of rows ends."""


@dataclass(frozen=True, slots=True)
class RowMatching:
    """What executors need to know."""

    carried: CarriedSubscriptions
    schedule: str
    dataset: bool
    split: str | None
    now: int | None
    """The acceptance time of all documents, in microseconds; None for that of each batch, as streams have it."""


def match(
    publications: DataFrame,
    subscriptions: Given,
    *,
    taxonomy: str | Path | Iterable[str | Path] = (),
    broader: bool = False,
    schema: str | Path | Iterable[str | Path] = (),
    dataset: bool = False,
    split: str | None = None,
    operators: Iterable[Declared] | None = None,
    schedule: str = SCHEDULE,
) -> DataFrame:
    """Return the matches of documents, with the columns `COLUMNS`; of a stream, a stream.

    `publications` has `data` (string or binary), or `triples` (an array of N-Triples statements), and may have
    `media_type`, `graph` and `id`. Each row is matched by itself: an unchanged document counts as often as it comes.
    `subscriptions`: paths, the folder of an engine (its live subscriptions now), or a DataFrame with `id` and `text`.
    The other arguments are those of `triplecast match`. Paths are read here; executors compile the subscriptions when
    the first row comes, once a machine.

    Raises InputError for columns of other types, missing paths, and where no subscription is valid; those refused are
    warned of.
    """
    documents = select_documents(publications)
    called = operator_set(operators)
    known = read_taxonomy_files(paths_of(taxonomy), broader) if paths_of(taxonomy) else None
    carried = carry_subscriptions(subscriptions, called, dataset, known, read_schema_files(paths_of(schema)))
    now = None if publications.isStreaming else read_clock(system_clock)
    matching = RowMatching(
        carried, check_schedule(schedule), dataset, None if split is None else read_split(split), now
    )
    return documents.mapInArrow(partial(match_batches, matching), _DDL)


def match_batches(matching: RowMatching, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of an executor: rows of documents to rows of matches."""
    compiled = open_compiled(matching.carried, matching.schedule)
    documents = documents_of(batches, matching.dataset, matching.split)
    now = matching.now
    accept = first_versions(len(compiled.names), system_clock if now is None else lambda: now)
    for outcome in compiled.stages.match(match_whole(compiled.snapshot), documents, accept, compiled.taxonomy):
        yield from to_rows(outcome, compiled)


def first_versions(position: int, clock: Clock) -> Callable[[Sequence[Draft]], list[Publication]]:
    """Make each draft the first version of its graph, at the positions beyond `position`: what a row matches then
    depends on no other row."""
    last = position

    def accept(drafts: Sequence[Draft]) -> list[Publication]:
        nonlocal last
        now, first = time_text(read_clock(clock)), last + 1
        last += len(drafts)
        return [
            Publication(Position(at), each.graph, 1, now, each.quads, each.dataset, attachments=each.attachments)
            for at, each in enumerate(drafts, first)
        ]

    return accept


def to_rows(outcome: MatchedDocuments, compiled: Compiled) -> Iterator[pa.RecordBatch]:
    """Yield matches by publication and registration, then undecided pairs, then rejects."""
    matched = outcome.matched
    graphs = pa.array([each.graph for each in outcome.publications], pa.string())
    sheets = pa.Array.from_buffers(
        pa.string(),
        len(matched.offsets) - 1,
        [None, pa.py_buffer(matched.offsets.astype(np.int32)), pa.py_buffer(matched.bindings)],
    )
    ends = np.cumsum(np.diff(matched.offsets)[matched.sheet])
    start = 0
    while start < len(matched):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, "right")))
        publications, registrations, sheet = (
            pa.array(column[start:end]) for column in (matched.publication, matched.registration - 1, matched.sheet)
        )
        yield _batch(graphs.take(publications), compiled.names.take(registrations), sheets.take(sheet))
        start = end
    if matched.undecided:
        of = graphs.take(pa.array([each.publication for each in matched.undecided]))
        names = compiled.names.take(pa.array([each.registration - 1 for each in matched.undecided]))
        yield _batch(of, names, undecided=pa.array([each.reason for each in matched.undecided], pa.string()))
    if outcome.rejects:
        reasons = [f"{each.stage}: {each.reason}; {each.hint}" for each in outcome.rejects]
        yield _batch(pa.array([each.source for each in outcome.rejects], pa.string()), rejected=pa.array(reasons))


def _batch(publication: pa.Array, *of: pa.Array, **reasons: pa.Array) -> pa.RecordBatch:
    """Rows of `COLUMNS`: subscription and bindings, as far as they are given, and the reason of one kind."""
    known = dict(zip(COLUMNS[1:], of, strict=False)) | reasons
    nulls = pa.nulls(len(publication), pa.string())
    columns = [known.get(name, nulls) for name in COLUMNS[1:]]
    return pa.RecordBatch.from_arrays([publication, *columns], schema=_SCHEMA)
