"""Snapshots: what every publication at a position is matched against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triplecast.index.flat import Refused
from triplecast.index.manifest import open_segment, read_manifest
from triplecast.index.removals import Removals
from triplecast.index.segment import Segment


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
        return cls(manifest.covers, segments, manifest.removals, manifest.name)
