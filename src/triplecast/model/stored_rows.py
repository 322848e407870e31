"""Open rows as bytes: a line of JSON that names the columns, then each column, numbers little-endian.

The bytes are a cache. Rows of another format, or of operators whose calls parse otherwise, are matched again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from triplecast.model.answers import GroundCall
from triplecast.model.entailment import EntailmentMode
from triplecast.model.open_rows import EVALUATED, Cells, OpenRows, QueryText

FORMAT = 1
"""Another number whenever these bytes, or what plans make of them, change."""
_NUMBERS = ("position", "registration", "query", "table", "waits", "needed", "sizes", "widths", "cells")
_WIDE = ("position", "registration", "waits")


def write_open_rows(rows: OpenRows, grammar: str) -> bytes:
    """Write the pairs of `rows`, with what they need. `grammar`: of the operators that their plans were made with."""
    rows = compact(rows)
    flat = [row for cells in rows.rows for row in cells]
    numbers: dict[str, Any] = {name: getattr(rows, name) for name in _NUMBERS[:6]}
    numbers["sizes"] = [len(cells) for cells in rows.rows]
    numbers["widths"] = [len(cells[0]) if cells else 0 for cells in rows.rows]
    numbers["cells"] = [cell for row in flat for cell in row]
    columns = [np.asarray(numbers[name], "<i8" if name in _WIDE else "<i4").tobytes() for name in _NUMBERS]
    texts = [rows.queries, rows.tables, rows.terms, rows.calls, rows.reasons]
    columns += [json.dumps(each, ensure_ascii=False).encode("utf-8", "surrogatepass") for each in texts]
    header = {"format": FORMAT, "grammar": grammar, "columns": [len(column) for column in columns]}
    return b"".join([json.dumps(header).encode(), b"\n", *columns])


def read_open_rows(body: bytes, grammar: str) -> OpenRows | None:
    """Read what `write_open_rows` wrote; None for bytes of another format or grammar, and for damaged ones."""
    try:
        line, _, rest = body.partition(b"\n")
        header = json.loads(line)
        if (header["format"], header["grammar"]) != (FORMAT, grammar) or sum(header["columns"]) != len(rest):
            return None
        columns, start = [], 0
        for length in header["columns"]:
            columns.append(rest[start : start + length])
            start += length
        found = {
            name: np.frombuffer(column, "<i8" if name in _WIDE else "<i4")
            for name, column in zip(_NUMBERS, columns, strict=False)
        }
        queries, tables, terms, calls, reasons = (
            json.loads(column.decode("utf-8", "surrogatepass")) for column in columns[len(_NUMBERS) :]
        )
        return OpenRows(
            **{name: found[name] for name in _NUMBERS[:4]},
            queries=tuple(QueryText(text, language, EntailmentMode(mode)) for text, language, mode in queries),
            tables=tuple(tuple((branch, number) for branch, number in table) for table in tables),
            rows=_cells(found["sizes"].tolist(), found["widths"].tolist(), found["cells"].tolist()),
            terms=tuple(terms),
            waits=found["waits"],
            needed=found["needed"],
            calls=tuple(GroundCall(operator, tuple(arguments)) for operator, arguments in calls),
            reasons=tuple(reasons),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _cells(sizes: Sequence[int], widths: Sequence[int], cells: Sequence[int]) -> tuple[Cells, ...]:
    found: list[Cells] = []
    start = 0
    for size, width in zip(sizes, widths, strict=True):
        ends = range(start + width, start + width * size + 1, width) if width else [start] * size
        found.append(tuple(tuple(cells[end - width : end]) for end in ends))
        start += width * size
    return tuple(found)


def compact(rows: OpenRows) -> OpenRows:
    """Drop queries, tables, lists, terms and calls that no pair needs."""
    queries = _renumbered(rows.query.tolist())
    tables = _renumbered(number for number in rows.table.tolist() if number != EVALUATED)
    lists = _renumbered(number for table in tables for _, number in rows.tables[table])
    terms = _renumbered(cell for number in lists for row in rows.rows[number] for cell in row)
    calls = _renumbered(rows.needed.tolist())
    return rows._replace(
        query=np.array([queries[number] for number in rows.query.tolist()], np.int32),
        table=np.array([tables.get(number, EVALUATED) for number in rows.table.tolist()], np.int32),
        queries=tuple(rows.queries[number] for number in queries),
        tables=tuple(tuple((branch, lists[number]) for branch, number in rows.tables[table]) for table in tables),
        rows=tuple(tuple(tuple(terms[cell] for cell in row) for row in rows.rows[number]) for number in lists),
        terms=tuple(rows.terms[number] for number in terms),
        needed=np.array([calls[number] for number in rows.needed.tolist()], np.int32),
        calls=tuple(rows.calls[number] for number in calls),
    )


def _renumbered(numbers: Any) -> dict[int, int]:
    return {number: place for place, number in enumerate(dict.fromkeys(numbers))}
