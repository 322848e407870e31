"""Rows of a chunk that a reader wants, and the notifications that are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64
from triplecast.model.match import CHANGES, pair_id, publication_key
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Subscription
from triplecast.outbox.chunk import Chunk
from triplecast.outbox.distinct import distinct
from triplecast.outbox.notification import Cursor, Notification
from triplecast.outbox.read_names import ReadNames


class Selected(NamedTuple):
    """Some rows of a chunk."""

    epoch: int
    first: int
    """Sequence of the chunk's first row."""
    content: Chunk
    rows: NDArray[np.int64]
    """Ascending."""
    names: ReadNames
    """Of these rows' registrations, and maybe of others."""
    numbers: I64
    """These rows' registrations, each once, ascending."""
    place: I32
    """Of each row's registration among `numbers`."""

    @classmethod
    def of(cls, epoch: int, first: int, content: Chunk, rows: NDArray[np.int64], names: ReadNames) -> Selected:
        return cls(epoch, first, content, rows, names, *distinct(content.registration[rows]))

    @property
    def publication(self) -> NDArray[np.int64]:
        """Of each row, the index into the chunk's publications."""
        return np.repeat(np.arange(len(self.content.counts)), self.content.counts)[self.rows]


def made(selected: Selected, defined: Mapping[int, Subscription], operators: OperatorSet) -> Iterator[Notification]:
    """The notifications of rows; `defined`: their queries, as far as these are known."""
    epoch, first, content, rows, names, numbers, place = selected
    bindings, offsets = content.bindings.tobytes(), content.offsets.tolist()
    named, registrations = names.of(numbers), numbers.tolist()
    columns = (rows, selected.publication, place, content.change[rows], content.sheet[rows])
    at, key = -1, ""
    for row, of, at_name, number, sheet in zip(*(column.tolist() for column in columns), strict=True):
        publication = content.publications[of]
        if of != at:
            at, key = of, publication_key(publication.graph, publication.version)
        registration, (name, owner) = registrations[at_name], named[at_name]
        yield Notification(
            Cursor(epoch, first + row),
            pair_id(key, registration, number),
            publication.position,
            CHANGES[number].word,
            publication.graph,
            publication.version,
            registration,
            name,
            owner,
            bindings[offsets[sheet] : offsets[sheet + 1]].decode(),
            publication.accepted_at,
            defined.get(registration),
            operators,
        )
