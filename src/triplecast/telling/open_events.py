"""Events of which pairs wait for operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from triplecast.model.events import DocumentEvent
from triplecast.model.match import MatchedBatch
from triplecast.model.open_rows import NO_OPEN_ROWS, OpenRows
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT, write_open_rows
from triplecast.outbox import OpenPart
from triplecast.outbox.batch import NOTHING, OutboxBatch
from triplecast.residual import PublicationConditions


@dataclass(frozen=True, slots=True)
class OpenEvents:
    """Events at positions in (`after`, `upto`], of which pairs wait for operators."""

    after: int
    upto: int
    events: Sequence[DocumentEvent]
    found: OutboxBatch = NOTHING
    """All that was decided of them as they were matched just now;"""
    open: OpenRows = NO_OPEN_ROWS
    """and what was not, by what these `conditions` say."""
    conditions: Mapping[int, PublicationConditions] = field(default_factory=dict)

    @classmethod
    def between(
        cls, after: int, upto: int, events: Sequence[DocumentEvent], matched: MatchedBatch, found: OutboxBatch
    ) -> OpenEvents:
        """The first of some events, of which `matched` is all that was found."""
        if upto == events[-1].position and after < events[0].position:
            return cls(after, upto, events, found, matched.open, matched.conditions)
        kept = np.flatnonzero((matched.open.position > after) & (matched.open.position <= upto))
        some = [each for each in events if after < each.position <= upto]
        conditions = {position: each for position, each in matched.conditions.items() if after < position <= upto}
        return cls(after, upto, some, found, matched.open.only(kept), conditions)

    def parts(self, operators: OperatorSet) -> list[OpenPart]:
        """What the outbox stores of what waits."""
        if not self.open.pairs:
            return []
        return [OpenPart(self.after, self.upto, FORMAT, write_open_rows(self.open, operators.grammar))]

    @property
    def publications(self) -> list[Publication]:
        return [each for each in self.events if isinstance(each, Publication)]

    def between_positions(self, after: int, upto: int) -> list[DocumentEvent]:
        return [each for each in self.events if after < each.position <= upto]

    def of_publications(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those of `pairs` that are of publications, sorted; of the others, what was decided is nothing."""
        positions = {each.position for each in self.publications}
        return sorted(pair for pair in pairs if pair[0] in positions)
