"""Where segments and manifests are: another machine may open them from elsewhere than the folder of mapped files."""

from __future__ import annotations

import re
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Protocol
from weakref import WeakValueDictionary

from triplecast.errors import StorageFault
from triplecast.index.file import TEMPORARY, Sole
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Manifest, Snapshot, open_segment, read_manifest, release_segments, write_manifest

_NAME = re.compile(r"(manifest|segment)-([0-9]{10})\.(json|tcx)")


class SegmentStore(Protocol):
    """Immutable segments, and manifests that name them.

    What has been written under a name never changes, and what `publish` has returned can be opened by anybody. Methods
    raise `StorageFault` for what is missing or damaged, never give another content.
    """

    def latest(self) -> str | None:
        """Return the name of the manifest published last (`Manifest.name`); None where there is none."""

    def manifest(self, name: str) -> Manifest:
        """Return the manifest of this name."""

    def segment(self, name: str) -> Segment:
        """Return the segment of this name, checked as a whole; opened once while it is in use."""

    def write(self, segment: Segment) -> str:
        """Store a segment; return its name, which no manifest has yet."""

    def publish(self, manifest: Manifest) -> None:
        """Make a manifest the latest one. Its segments are written."""

    def release(self, name: str) -> None:
        """Note that no manifest will name this segment, which was written."""

    def sweep(self, keep: int) -> None:
        """Delete all but the last `keep` manifests, and the segments that none of these names, but for those that were
        written and neither published nor released yet."""

    def close(self) -> None:
        """Let go of the segments that were opened."""


def number_of(name: str) -> int:
    """Return the number in the name of a manifest or a segment."""
    found = _NAME.fullmatch(name)
    return int(found[2]) if found else 0


def open_snapshot(store: SegmentStore, name: str) -> Snapshot:
    """Open the snapshot that a manifest names, from wherever its segments are."""
    manifest = store.manifest(name)
    segments = tuple(store.segment(each) for each in manifest.segments)
    return Snapshot(manifest.covers, segments, manifest.removals, manifest.name)


class SegmentMemory:
    """Segments of this process, which live while an index or a snapshot holds them, and the last manifest."""

    def __init__(self) -> None:
        self._segments: WeakValueDictionary[str, Segment] = WeakValueDictionary()
        self._numbers = count(1)
        self._latest: Manifest | None = None

    def latest(self) -> str | None:
        return None if self._latest is None else self._latest.name

    def manifest(self, name: str) -> Manifest:
        if self._latest is None or self._latest.name != name:
            raise StorageFault(name, "it is not in memory", "open the latest one")
        return self._latest

    def segment(self, name: str) -> Segment:
        return self._segments[name]

    def write(self, segment: Segment) -> str:
        name = f"segment-{next(self._numbers):010}"
        self._segments[name] = segment
        return name

    def publish(self, manifest: Manifest) -> None:
        self._latest = manifest

    def release(self, name: str) -> None:
        """Nothing to do: what nobody holds is gone."""

    def sweep(self, keep: int) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


class SegmentFolder:
    """Mapped files in one folder. They get and lose their names inside `sole`, so that a writer whose place another has
    taken changes none. (A file that is mapped stays readable after its deletion.)"""

    def __init__(self, path: Path, sole: Sole = nullcontext) -> None:
        self._path = path
        self._sole = sole
        self._naming = Lock()
        self._last = 0
        """The highest number of a segment that was named or opened here."""
        self._named: dict[int, tuple[str, ...]] = {}
        """The segments of the kept manifests that were written or read here, by the manifest's number."""
        self._unnamed: set[str] = set()
        """Segments that were written here, or are being, and no manifest names yet."""

    def latest(self) -> str | None:
        numbers = self._numbers("manifest")
        return f"manifest-{numbers[-1]:010}.json" if numbers else None

    def manifest(self, name: str) -> Manifest:
        return read_manifest(self._path, name)

    def segment(self, name: str) -> Segment:
        with self._naming:  # no segment gets this name again, also if somebody deletes the file
            self._last = max(self._last, number_of(name))
        try:
            return open_segment(self._path / name)
        except StorageFault:
            with self._sole():  # raises if it is gone because another process has become the writer
                raise

    def write(self, segment: Segment) -> str:
        """Store a segment, in any thread."""
        self._make_folder()
        name = self._new_name()
        try:
            segment.write(self._path / name, self._sole)
        except BaseException:
            self.release(name)
            raise
        return name

    def release(self, name: str) -> None:
        with self._naming:
            self._unnamed.discard(name)

    def publish(self, manifest: Manifest) -> None:
        """Make a manifest the latest one; that of an empty snapshot may be the folder's first file."""
        self._make_folder()
        write_manifest(self._path, manifest, self._sole)
        self._named[manifest.number] = manifest.segments
        with self._naming:
            self._unnamed.difference_update(manifest.segments)

    def sweep(self, keep: int) -> None:
        """Delete also what a killed process was writing. A manifest that cannot be read keeps nothing alive."""
        with self._sole():
            numbers = self._numbers("manifest")
            self._named = {number: self._segments_of(number) for number in numbers[-keep:]}
            with self._naming:
                unnamed = set(self._unnamed)
            needed = {*unnamed, *(name for names in self._named.values() for name in names)}
            for number in numbers[:-keep]:
                (self._path / f"manifest-{number:010}.json").unlink(missing_ok=True)
            for number in self._numbers("segment"):
                name = f"segment-{number:010}.tcx"
                if name not in needed:
                    (self._path / name).unlink(missing_ok=True)
            for left in self._path.glob(f"*{TEMPORARY}"):
                if not left.name.startswith(tuple(unnamed)):
                    left.unlink(missing_ok=True)

    def close(self) -> None:
        release_segments(self._path)

    def _make_folder(self) -> None:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFault(str(self._path), f"cannot be made: {error.strerror}", "fix the folder above") from error

    def _new_name(self) -> str:
        """Return a name that no segment has or gets, in whatever thread."""
        with self._naming:
            self._last = max([*self._numbers("segment"), self._last]) + 1
            name = f"segment-{self._last:010}.tcx"
            self._unnamed.add(name)
            return name

    def _numbers(self, kind: str) -> list[int]:
        """The numbers of the folder's manifests or segments, ascending."""
        names = [entry.name for entry in self._path.iterdir()] if self._path.is_dir() else []
        matches = [match for match in map(_NAME.fullmatch, names) if match and match[1] == kind]
        return sorted(int(match[2]) for match in matches)

    def _segments_of(self, number: int) -> tuple[str, ...]:
        """The segments that a manifest names, which is read once."""
        known = self._named.get(number)
        if known is not None:
            return known
        try:
            return self.manifest(f"manifest-{number:010}.json").segments
        except StorageFault:
            return ()
