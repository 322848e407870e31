"""Snapshots: the segments and removals that publications are matched against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triplecast.index.manifest import open_segment, read_manifest
from triplecast.index.members import Refused
from triplecast.index.removals import Removals
from triplecast.index.segment import Segment


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index valid for publications up to the next registry change after position `covers`."""

    covers: int
    segments: tuple[Segment, ...]
    removals: Removals
    manifest: str | None = None
    """The name of its manifest, by which workers open it; None in memory."""

    def __len__(self) -> int:
        """Count the registrations live at position `covers` or later, invalid ones included."""
        return sum(len(segment) for segment in self.segments) - len(self.removals.registration)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """RegistrationNumbers, cancelled ones too, that this version cannot ask although the journal has them."""
        return tuple(refused for segment in self.segments for refused in segment.refused)

    @classmethod
    def open(cls, folder: Path, manifest_name: str) -> Snapshot:
        """Open the snapshot of a manifest; open segments are shared within the process. Raises `StorageFault`."""
        manifest = read_manifest(folder, manifest_name)
        segments = tuple(open_segment(folder / name) for name in manifest.segments)
        return cls(manifest.covers, segments, manifest.removals, manifest.name)
