"""Triples of a batch while they are entailed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I64


class Facts(NamedTuple):
    """Four columns. A node is the number of a term of the closures, or ``-1 - t`` for term t of the batch if they lack
    it: so a term has one number."""

    view: I64
    subject: I64
    predicate: I64
    object: I64

    def keep(self, rows: NDArray[np.bool_]) -> Facts:
        return Facts(self.view[rows], self.subject[rows], self.predicate[rows], self.object[rows])

    def of_view(self, view: int) -> Facts:
        return self.keep(self.view == view)


def join_facts(parts: Sequence[Facts]) -> Facts:
    return Facts(*(np.concatenate(column) for column in zip(*parts, strict=True)))
