"""The rows to decide, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.undecided import FAILED, FALSE, HOLDS, UNKNOWN

OPEN = UNKNOWN
"""Not decided yet."""
REFUTED = FALSE
"""A predicate of the row is false. (`FAILED`: one failed and none is false, so the pair is undecided.)"""

__all__ = ["FAILED", "HOLDS", "OPEN", "REFUTED", "Conjunctions", "make_conjunctions"]


class Conjunctions(NamedTuple):
    """Row r is the conjunction of the ground predicates ``members[starts[r]:starts[r + 1]]``, each once; a row without
    any holds. Ground predicates are numbered from 0 in the columns below."""

    subscriptions: NDArray[np.int64]
    """[rows] whose row it is."""
    starts: NDArray[np.int64]
    """[rows + 1]"""
    members: NDArray[np.int32]
    templates: NDArray[np.int32]
    """[ground] what each is an instance of."""
    costs: NDArray[np.float64]
    """[ground] seconds that an evaluation is expected to take, positive."""
    holds: NDArray[np.float64]
    """[ground] how probable it is to hold, from 0 to 1."""


def make_conjunctions(
    rows: Sequence[tuple[int, Sequence[int]]],
    templates: Sequence[int],
    costs: Sequence[float],
    holds: Sequence[float],
) -> Conjunctions:
    """From (subscription, ground predicates) of each row; a ground predicate that a row names twice stands in it once.

    Raises `ValueError` where a row names a ground predicate that has no columns, a cost is not positive and finite, or
    a probability is not one.
    """
    distinct = [list(dict.fromkeys(members)) for _, members in rows]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(members) for members in distinct], out=starts[1:])
    flat = np.array([member for members in distinct for member in members], np.int32)
    made = Conjunctions(
        np.array([subscription for subscription, _ in rows], np.int64),
        starts,
        flat,
        np.array(templates, np.int32),
        np.array(costs, np.float64),
        np.array(holds, np.float64),
    )
    if not len(made.templates) == len(made.costs) == len(made.holds):
        raise ValueError("templates, costs and holds are columns of one table: they have the same length")
    if len(flat) and not 0 <= int(flat.min()) <= int(flat.max()) < len(made.templates):
        raise ValueError(f"a row names a ground predicate outside 0 to {len(made.templates) - 1}")
    if not ((made.costs > 0) & np.isfinite(made.costs)).all():
        raise ValueError("every cost is positive and finite")
    if not ((made.holds >= 0) & (made.holds <= 1)).all():
        raise ValueError("every probability lies from 0 to 1")
    return made
