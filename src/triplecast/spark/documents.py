"""Rows of a DataFrame as documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.ingest.media_types import N_TRIPLES
from triplecast.model.publication import Reject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("data", "media_type", "graph", "id")
"""Of a document: `data` is text or bytes; the others are texts, and may be null or missing."""
_TRIPLES = "triples"


def select_documents(rows: DataFrame) -> DataFrame:
    """The columns of documents among those of `rows`. A column ``triples``, statements of N-Triples as an array of
    texts, stands for `data`. Raises InputError where neither is there, or a column has another type."""
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    data, media_type = "cast(data AS BINARY)", "media_type"
    if "data" not in types and types.get(_TRIPLES) == "array<string>":
        types |= {"data": "binary", "media_type": "string"}
        data, media_type = f"cast(array_join({_TRIPLES}, '\n') AS BINARY)", f"'{N_TRIPLES}'"
    if types.get("data") not in ("string", "binary"):
        found = f"it is {types['data']}" if "data" in types else f"there are {', '.join(types) or 'none'}"
        raise InputError(f"no column `data` of strings or binary: {found}", "name that column data, or give triples")
    for name in COLUMNS[1:]:
        if types.get(name, "string") not in ("string", "void"):
            raise InputError(f"the column {name} is {types[name]}, not string", "cast it, rename it or drop it")
    given = {"data": data, "media_type": media_type}
    columns = [f"{given.get(name, name) if name in types else 'NULL'}" for name in COLUMNS]
    kinds = ("BINARY", *("STRING",) * 3)
    return rows.selectExpr(
        *(f"cast({column} AS {kind}) AS {name}" for column, kind, name in zip(columns, kinds, COLUMNS, strict=True))
    )


def documents_of(
    batches: Iterable[pa.RecordBatch], dataset: bool = False, split: str | None = None
) -> Iterator[Document | Reject]:
    """Yield the document of each row. Its source is `id`, else the graph, else made of its content. A row without
    `data` is a reject."""
    for batch in batches:
        names = batch.schema.names
        columns = [batch.column(names.index(each)).to_pylist() if each in names else None for each in COLUMNS]
        for row in range(batch.num_rows):
            data, media_type, graph, id = (None if column is None else column[row] for column in columns)
            name = graph if id is None else id
            if data is None:
                yield Reject(name or "", "gate", "its data is null", "give each row a document, or leave it out")
                continue
            content = data.encode() if isinstance(data, str) else bytes(data)
            source = f"sha256/{hashlib.sha256(content).hexdigest()}" if name is None else name
            yield Document(source, content, media_type, graph, dataset, split=split)
