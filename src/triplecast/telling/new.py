"""Who wants to hear each solution once, and what tells solutions apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from triplecast.journal import JournalFile
from triplecast.kernels.layout import I64
from triplecast.model.publication import Publication
from triplecast.model.subscription import NEW
from triplecast.repository.document_lines import blank_names
from triplecast.telling.hearing import Hearing
from triplecast.telling.rows import Names, key_of


class NewHearers:
    """An `outbox.heard.Hearers` by what the journal says."""

    def __init__(self, journal: JournalFile) -> None:
        self._journal = journal
        self._hearing = Hearing(journal)
        self._names: tuple[int, Names] = 0, {}
        """Of the blank nodes of the version at a position."""

    @property
    def are_there(self) -> bool:
        """Whether there is one, or was."""
        return self._hearing.has(NEW)

    def want_new(self, registrations: I64) -> NDArray[np.bool_]:
        return self._hearing.want(registrations, NEW)

    def digest(self, position: int, solution: Mapping[str, str]) -> bytes:
        """128 bits of the solution's terms. A blank node of a publication counts by the name that it has in the
        repository (semantics 2.6), as it is shown in repository scope."""
        has_blank = any(term.startswith("_:") for term in solution.values())
        key = key_of(solution, self._names_at(position) if has_blank else {})
        return blake2b(json.dumps(key, ensure_ascii=False).encode(), digest_size=16).digest()

    def _names_at(self, position: int) -> Names:
        if self._names[0] != position:
            events = self._journal.documents(position - 1, position)
            self._names = position, {name: each for event in events for name, each in _names_of(event).items()}
        return self._names[1]


def _names_of(event: object) -> Names:
    return blank_names(event) if isinstance(event, Publication) else {}
