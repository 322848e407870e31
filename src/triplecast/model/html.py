"""What a notebook shows of a result: a small table. All text in it comes from strangers and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from triplecast.model.printable import printable, shortened

SHOWN = 20
"""Rows."""
LONGEST = 200
"""Characters of a cell."""


def table_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of the first `SHOWN` rows below a title; the title alone where there are none."""
    found = list(islice(rows, SHOWN + 1))
    lines = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in found[:SHOWN])
    if len(found) > SHOWN:
        lines += f"<tr><td colspan={len(columns)}>…</td></tr>"
    heads = "".join(f"<th>{_cell(column)}</th>" for column in columns)
    return f"<p>{_cell(title)}</p>" + (f"<table><tr>{heads}</tr>{lines}</table>" if found else "")


def text_html(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(printable(text))}</pre>"


def _cell(value: object) -> str:
    return escape(printable(shortened(str(value), LONGEST)))
