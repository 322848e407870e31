"""Notifications as Arrow: columns over the arrays of a chunk, with each text once in a dictionary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from triplecast.kernels.layout import I32
from triplecast.kernels.render import RowIds, write_ids
from triplecast.model.match import CHANGES, publication_key
from triplecast.outbox.selected import Selected

_TEXT = pa.dictionary(pa.int32(), pa.string())
COLUMNS = pa.schema(
    [
        ("sequence", pa.int64()),
        ("id", pa.large_string()),
        ("change", _TEXT),
        ("publication", _TEXT),
        ("version", pa.int64()),
        ("position", pa.int64()),
        ("registration", pa.int64()),
        ("subscription", _TEXT),
        ("owner", _TEXT),
        ("json", _TEXT),
        ("accepted_at", _TEXT),
    ]
)
"""As the attributes of `Notification`; ``json`` holds the solutions as recorded, so ``change`` says which they are:
a list of those added or removed, or an object of both lists. A cursor is the outbox's epoch and
``sequence``; the epoch is in the schema's metadata."""

_SUFFIXES = np.frombuffer(bytearray("".join(kind.suffix for kind in CHANGES).encode()), np.uint8)
_SUFFIX_ENDS = np.cumsum([0, *(len(kind.suffix) for kind in CHANGES)], dtype=np.int64)


class RecordBatches:
    """Makes the record batches of one reader, which has each name as Arrow once."""

    def __init__(self) -> None:
        self._subscriptions = self._owners = pa.array([], pa.string())

    def make(self, selected: Selected) -> pa.RecordBatch:
        """The rows as `COLUMNS`."""
        names = selected.names
        self._subscriptions = _grown(self._subscriptions, names.subscriptions)
        self._owners = _grown(self._owners, names.owners)
        places = pa.array(names.places(selected.numbers))
        return _record_batch(selected, self._subscriptions.take(places), self._owners.take(places))


def _grown(column: pa.Array, texts: Sequence[str | None]) -> pa.Array:
    """The column of all `texts`, given that of the first ones."""
    if len(column) == len(texts):
        return column
    return pa.concat_arrays([column, pa.array(texts[len(column) :], pa.string())])


def _record_batch(selected: Selected, subscriptions: pa.Array, owners: pa.Array) -> pa.RecordBatch:
    content, rows, place = selected.content, selected.rows, selected.publication
    names = content.publications
    keys = "".join(publication_key(name.graph, name.version) for name in names).encode()
    registration, change = content.registration[rows], content.change[rows]
    ids = RowIds(np.frombuffer(bytearray(keys), np.uint8), _SUFFIXES, _SUFFIX_ENDS, place, registration, change)
    id_text, id_ends = write_ids(ids)
    of = place.astype(np.int32)
    sheets = pa.Array.from_buffers(
        pa.string(),
        len(content.offsets) - 1,
        [None, pa.py_buffer(content.offsets.astype(np.int32)), pa.py_buffer(content.bindings)],
    )
    arrays = [
        pa.array(selected.first + rows),
        pa.Array.from_buffers(pa.large_string(), len(rows), [None, pa.py_buffer(id_ends), pa.py_buffer(id_text)]),
        _texts(change.astype(np.int32), [kind.word for kind in CHANGES]),
        _texts(of, [name.graph for name in names]),
        pa.array(np.array([name.version for name in names], np.int64)[place]),
        pa.array(np.array([name.position for name in names], np.int64)[place]),
        pa.array(registration),
        _texts(selected.place, subscriptions),
        _texts(selected.place, owners),
        pa.DictionaryArray.from_arrays(pa.array(content.sheet[rows]), sheets, safe=False),
        _texts(of, [name.accepted_at for name in names]),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS.with_metadata({"epoch": str(selected.epoch)}))


def _texts(places: I32, texts: Sequence[str | None] | pa.Array) -> pa.DictionaryArray:
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(places), column, safe=False)
