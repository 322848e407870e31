"""Snapshots: what every publication at a position is matched against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from triplecast.index.flat import Refused
from triplecast.index.manifest import open_segment, read_manifest
from triplecast.index.segment import Segment
from triplecast.kernels.layout import I64


class Removals(NamedTuple):
    """Cancelled registrations, ascending, and the positions at which they were cancelled."""

    registration: I64
    position: I64


NO_REMOVALS = Removals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def make_removals(pairs: dict[int, int]) -> Removals:
    registration = np.fromiter(pairs, np.int64, len(pairs))
    position = np.fromiter(pairs.values(), np.int64, len(pairs))
    order = np.argsort(registration)
    return Removals(registration[order], position[order])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Valid for publications at positions up to the next change of the registry after `covers`."""

    covers: int
    segments: tuple[Segment, ...]
    removals: Removals
    manifest: str | None = None
    """The name of its manifest in its folder, for workers; None in memory."""

    def __len__(self) -> int:
        """Registrations that live at position `covers` or later, the refused ones included."""
        return sum(len(segment) for segment in self.segments) - len(self.removals.registration)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Registrations, cancelled ones too, that this version cannot ask although the journal has them."""
        return tuple(refused for segment in self.segments for refused in segment.refused)

    @classmethod
    def open(cls, folder: Path, manifest_name: str) -> Snapshot:
        """The snapshot that a manifest names; open segments are shared within the process. Raises `StorageFault`."""
        manifest = read_manifest(folder, manifest_name)
        segments = tuple(open_segment(folder / name) for name in manifest.segments)
        return cls(manifest.covers, segments, make_removals(dict(manifest.removed)), manifest.name)
