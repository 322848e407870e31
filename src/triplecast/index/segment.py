"""Segments: immutable indexes of some subscriptions, in memory or in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplecast.index.anchors import Anchor, RarestKey
from triplecast.index.build import Tables, build_tables
from triplecast.index.flat import Flat, Refused, flatten_registrations
from triplecast.model.subscription import Registration


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """An index of N subscriptions, numbered by ascending registration id."""

    tables: Tables
    texts: dict[int, tuple[str, str]]
    """Subscription number to (text, language), where the evaluator decides."""
    refused: tuple[Refused, ...]

    def __len__(self) -> int:
        return len(self.tables.registrations)


def build_segment(registrations: Sequence[Registration], anchor: Anchor | None = None) -> Segment:
    """Parses, compiles and indexes; refusals are recorded in the segment, not raised."""
    return index_flat(flatten_registrations(registrations), anchor or RarestKey())


def index_flat(flat: Flat, anchor: Anchor) -> Segment:
    return Segment(build_tables(flat, anchor), flat.texts, flat.refused)
