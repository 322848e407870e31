"""Rows in order: of one answer by the texts of their terms, of many parts by publication and registration."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from triplecast.kernels.render import SPARSEST, merge_rows
from triplecast.kernels.row_order import rank_terms, sort_few, sort_rows
from triplecast.kernels.views import view_graphs
from triplecast.model.match import order_pairs

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


def test_few_rows_have_the_order_that_their_ranks_give() -> None:
    rng = random.Random(SEED)
    names = ["a", "ab", "b", "b-1", "ä", "z" * 40]
    for _ in range(200):
        lines = {f"<x:{rng.choice(names)}> <x:p> <x:{rng.choice(names)}{rng.randrange(9)}> .\n" for _ in range(9)}
        terms = view_graphs(["".join(sorted(lines, key=str.encode)).encode()]).terms
        count, width = rng.randint(1, 6), rng.randint(1, 3)
        cells = np.array([rng.randrange(len(terms.start)) for _ in range(count * width)], np.int32)
        columns = np.array([rng.randrange(width) for _ in range(rng.randint(0, 3))], np.int32)
        ranks = np.empty(len(terms.start), np.int32)
        rank_terms(terms, 0, len(ranks), ranks)
        ranked, sorted_few = (np.arange(count, dtype=np.int64) * width for _ in range(2))
        sort_rows(ranked, np.empty(count, np.int64), cells, columns, ranks)
        sort_few(sorted_few, cells, columns, terms)
        assert sorted_few.tolist() == ranked.tolist()


def parts_of(rng: np.random.Generator, span: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Publications and registrations, each pair once, in some parts that are in order by publication."""
    pairs = rng.permutation(np.unique(rng.integers(0, [5, span], (400, 2)), axis=0))
    cuts = np.sort(rng.integers(0, len(pairs), 3))
    found = [part[np.argsort(part[:, 0], kind="stable")] for part in np.split(pairs, cuts)]
    return [(part[:, 0].astype(np.int32), 7 + part[:, 1]) for part in found]


def merge(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...] | None:
    publication, registration = (np.concatenate(column) for column in zip(*parts, strict=True))
    sheet = np.arange(len(publication), dtype=np.int32)
    merged = merge_rows([len(part[0]) for part in parts], publication, registration, sheet)
    if merged is not None:
        order = order_pairs(publication, registration)
        expected = publication[order], registration[order], sheet[order]
        assert [column.tolist() for column in merged] == [column.tolist() for column in expected]
    return merged


@pytest.mark.parametrize("span", [90, 4_000])
def test_parts_are_merged_in_the_order_of_their_pairs(span: int) -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(30):
        assert merge(parts_of(rng, span)) is not None


def test_what_is_far_apart_out_of_order_or_there_twice_is_left_to_a_sort() -> None:
    rng = np.random.default_rng(SEED)
    parts = parts_of(rng, 90)
    assert merge(parts_of(rng, 400 * SPARSEST * 2)) is None
    assert merge([*parts, parts[-1]]) is None
    assert merge([(publication[::-1].copy(), registration) for publication, registration in parts]) is None
    assert merge([(parts[0][0][:0], parts[0][1][:0])]) is None
