"""The canonical order of rows: by the N-Triples text of their terms (semantics 1.4)."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.resolve import Terms


@njit
def rank_terms(terms: Terms, base: int, count: int, ranks: I32) -> None:
    """Rank a publication's terms by the bytes of their N-Triples text, equal to the order of its code points."""
    order = np.empty(count, np.int64)
    spare = np.empty(count, np.int64)
    for term in range(count):
        order[term] = base + term
    size = 1
    while size < count:
        for low in range(0, count, 2 * size):
            middle = min(low + size, count)
            high = min(low + 2 * size, count)
            left, right = low, middle
            for at in range(low, high):
                if right >= high or (left < middle and not _text_less(terms, order[right], order[left])):
                    spare[at] = order[left]
                    left += 1
                else:
                    spare[at] = order[right]
                    right += 1
        order, spare = spare, order
        size *= 2
    for rank in range(count):
        ranks[order[rank]] = rank


@inlined
def _text_less(terms: Terms, left: int, right: int) -> bool:
    shorter = min(terms.length[left], terms.length[right])
    left_at, right_at = terms.start[left], terms.start[right]
    for i in range(shorter):
        a, b = int(terms.text[left_at + i]), int(terms.text[right_at + i])
        if a != b:
            return a < b
    return bool(terms.length[left] < terms.length[right])


@borrowing
def sort_few(selected: I64, cells: I32, columns: I32, terms: Terms) -> None:
    """Do what `sort_rows` does, by the texts themselves: for so few rows that this is less than ranking all terms."""
    for row in range(1, len(selected)):
        moved = selected[row]
        at = row
        while at > 0 and _texts_less(moved, selected[at - 1], cells, columns, terms):
            selected[at] = selected[at - 1]
            at -= 1
        selected[at] = moved


@inlined
def _texts_less(left: int, right: int, cells: I32, columns: I32, terms: Terms) -> bool:
    for column in columns:
        a, b = cells[left + column], cells[right + column]
        if a != b:
            return bool(_text_less(terms, a, b))
    return False


@borrowing
def sort_rows(selected: I64, spare: I64, cells: I32, columns: I32, ranks: I32) -> None:
    """Sort rows by the ranks of their columns, in place; stable."""
    count = len(selected)
    if count <= 12:
        for row in range(1, count):
            moved = selected[row]
            at = row
            while at > 0 and _row_less(moved, selected[at - 1], cells, columns, ranks):
                selected[at] = selected[at - 1]
                at -= 1
            selected[at] = moved
        return
    size = 1
    source, target = selected, spare[:count]
    while size < count:
        for low in range(0, count, 2 * size):
            middle = min(low + size, count)
            high = min(low + 2 * size, count)
            left, right = low, middle
            for at in range(low, high):
                if right >= high or (
                    left < middle and not _row_less(source[right], source[left], cells, columns, ranks)
                ):
                    target[at] = source[left]
                    left += 1
                else:
                    target[at] = source[right]
                    right += 1
        source, target = target, source
        size *= 2
    for row in range(count):
        spare[row] = source[row]
    for row in range(count):
        selected[row] = spare[row]


@inlined
def _row_less(left: int, right: int, cells: I32, columns: I32, ranks: I32) -> bool:
    for column in columns:
        a, b = ranks[cells[left + column]], ranks[cells[right + column]]
        if a != b:
            return bool(a < b)
    return False


@borrowing
def drop_repeated(selected: I64, cells: I32, columns: I32) -> int:
    kept = 1
    for row in range(1, len(selected)):
        same = True
        for column in columns:
            if cells[selected[row] + column] != cells[selected[kept - 1] + column]:
                same = False
                break
        if not same:
            selected[kept] = selected[row]
            kept += 1
    return kept
