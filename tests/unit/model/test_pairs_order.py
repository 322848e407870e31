"""Pairs are ordered by publication, then registration, whatever their numbers."""

from __future__ import annotations

import os

import numpy as np
import pytest

from triplecast.model.match import order_pairs

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))


@pytest.mark.parametrize("most", [(9, 30), (1 << 19, 1 << 42), (1 << 40, 9), (9, 1 << 60), (1 << 43, 1 << 43)])
def test_it_is_that_of_a_sort_by_both(most: tuple[int, int]) -> None:
    rng = np.random.default_rng(SEED)
    for size in (0, 1, 500):
        publication, registration = (rng.integers(0, end, size) for end in most)
        order = order_pairs(publication + 5, registration)
        assert order.tolist() == np.lexsort((registration, publication)).tolist()
