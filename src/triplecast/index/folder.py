"""The index on disk: segment files under numbered manifests. It is a cache of the journal's registry.

A manifest is immutable and names its segments; the one with the highest number holds. So a worker that was given a
manifest's name sees the same snapshot for as long as the files stay: manifests older than the last `MANIFESTS_KEPT`,
and segments that none of the kept ones names, are deleted. (A file that is mapped stays readable after its deletion.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

from triplecast.compile.compiled import CompiledSubscription
from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.index.file import TEMPORARY, Sole
from triplecast.index.flat import NONE_COMPILED
from triplecast.index.manifest import Manifest, open_segment, read_manifest, write_manifest
from triplecast.index.merge import apply_changes
from triplecast.index.removals import NO_REMOVALS, Removals
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot
from triplecast.index.worn import Remade, Worn, find_worn, remake, replace_worn
from triplecast.model.subscription import Registration

INDEX = "index"
"""The index's folder beside the journal."""
MANIFESTS_KEPT = 16
_NAME = re.compile(r"(manifest|segment)-([0-9]{10})\.(json|tcx)")


class IndexFolder:
    """The one writer of an index folder: its caller holds the journal's lock, and changes files inside `sole`
    (`Journal.sole`), so that a writer whose place another has taken changes none."""

    def __init__(self, path: Path, sole: Sole = nullcontext) -> None:
        self._path = path
        self._sole = sole
        self._segments: dict[str, Segment] = {}
        self._manifest = Manifest(0, 0, (), NO_REMOVALS)
        self._named: dict[int, tuple[str, ...]] = {}
        """The segments of the kept manifests that were written or read here, by the manifest's number."""
        self._naming = Lock()
        self._last = 0
        """The number of the segment named last."""
        self._remade = ""
        """The name of the segment that was made again last; no manifest may name it yet."""

    @property
    def covers(self) -> int:
        """The last registry position applied, of the snapshot opened or applied last."""
        return self._manifest.covers

    @property
    def needed_from(self) -> int:
        """Of the same snapshot: it answers for publications after this position only."""
        return self._manifest.needed_from

    def open(self) -> Snapshot:
        """The latest snapshot; an empty one that covers position 0 in a folder without manifests.

        Raises `StorageFault` where a file is missing, damaged or of another format: call `reset`, then `apply` the
        registry.
        """
        numbers = self._numbers("manifest")
        if not numbers:
            return self.reset()
        self._manifest = read_manifest(self._path, f"manifest-{numbers[-1]:010}.json")
        self._segments = {name: open_segment(self._path / name) for name in self._manifest.segments}
        return self.snapshot()

    def reset(self) -> Snapshot:
        """Forgets what the folder holds and starts with an empty snapshot, which is not written."""
        self._segments = {}
        self._manifest = Manifest(max(self._numbers("manifest"), default=0), 0, (), NO_REMOVALS)
        return self.snapshot()

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]],
        covers: int,
        needed_from: int = 0,
        compiled: Mapping[int, CompiledSubscription] = NONE_COMPILED,
    ) -> Snapshot:
        """Writes the snapshot after these changes of the registry: (registration, position of its removal) for each
        removed.

        `needed_from`: no publication at or before this position will be asked again. `compiled`: of some that are
        added, by id, which are not parsed again. Raises `StorageFault`, and then nothing has changed.
        """
        grown = apply_changes(
            tuple(self._segments.values()), self._manifest.removals, added, removed, needed_from, compiled
        )
        names = {id(segment): name for name, segment in self._segments.items()}
        segments: dict[str, Segment] = {}
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFault(str(self._path), f"cannot be made: {error.strerror}", "fix the folder above") from error
        for segment in grown.segments:
            name = names.get(id(segment)) or self._new_name()
            if id(segment) not in names:
                segment.write(self._path / name, self._sole)
                reach("index.segment-written")
                segment = self._open_written(name)
            segments[name] = segment
        needed_from = max(self._manifest.needed_from, needed_from)
        return self._write(segments, grown.removals, covers, needed_from)

    def find_worn(self) -> Worn | None:
        manifest = self._manifest
        return find_worn(tuple(self._segments.values()), manifest.removals, manifest.needed_from)

    def remake(self, worn: Worn) -> Remade:
        """Writes what lives of worn segments under a name that no manifest has yet. In any thread, beside all else;
        `adopt` has to follow. Raises `StorageFault`."""
        segment = remake(worn)
        if segment is None:
            return Remade(None)
        name = self._new_name()
        self._remade = name
        segment.write(self._path / name, self._sole)
        return Remade(self._open_written(name), name)

    def adopt(self, worn: Worn, remade: Remade) -> bool:
        """Writes the snapshot in which the remade segment stands in the place of the worn ones, if those still stand;
        whether they did. Raises `StorageFault`, and then nothing has changed."""
        segments = replace_worn(tuple(self._segments.values()), worn, remade.segment)
        if segments is None:
            return False
        names = {segment: name for name, segment in self._segments.items()}
        named = {names.get(segment, remade.name): segment for segment in segments}
        manifest = self._manifest
        removals = manifest.removals.within(segment.tables.registrations for segment in segments)
        self._write(named, removals, manifest.covers, manifest.needed_from)
        return True

    def snapshot(self) -> Snapshot:
        """The one opened or applied last."""
        manifest = self._manifest
        return Snapshot(manifest.covers, tuple(self._segments.values()), manifest.removals, manifest.name)

    def _write(self, segments: dict[str, Segment], removals: Removals, covers: int, needed_from: int) -> Snapshot:
        """The manifest of these segments, whose files are written."""
        number = max([*self._numbers("manifest"), self._manifest.number]) + 1
        manifest = Manifest(number, covers, tuple(segments), removals, needed_from)
        write_manifest(self._path, manifest, self._sole)
        self._segments, self._manifest = segments, manifest
        self._named[manifest.number] = manifest.segments
        with self._sole():
            self._sweep()
        return self.snapshot()

    def _new_name(self) -> str:
        """Of a segment's file: nobody else's, in whatever thread."""
        with self._naming:
            self._last = max([*self._numbers("segment"), self._last]) + 1
            return f"segment-{self._last:010}.tcx"

    def _open_written(self, name: str) -> Segment:
        try:
            return open_segment(self._path / name)
        except StorageFault:
            with self._sole():  # raises where it is gone because another has become the writer
                raise

    def _numbers(self, kind: str) -> list[int]:
        """The numbers of the folder's manifests or segments, ascending."""
        names = [entry.name for entry in self._path.iterdir()] if self._path.is_dir() else []
        matches = [match for match in map(_NAME.fullmatch, names) if match and match[1] == kind]
        return sorted(int(match[2]) for match in matches)

    def _sweep(self) -> None:
        """Deletes what no kept manifest needs, and what a killed process was writing. A manifest that cannot be read
        keeps nothing alive."""
        numbers = self._numbers("manifest")
        self._named = {number: self._segments_of(number) for number in numbers[-MANIFESTS_KEPT:]}
        needed = {self._remade, *(name for names in self._named.values() for name in names)}
        for number in numbers[:-MANIFESTS_KEPT]:
            (self._path / f"manifest-{number:010}.json").unlink(missing_ok=True)
        for number in self._numbers("segment"):
            name = f"segment-{number:010}.tcx"
            if name not in needed:
                (self._path / name).unlink(missing_ok=True)
        for left in self._path.glob(f"*{TEMPORARY}"):
            if not self._remade or not left.name.startswith(self._remade):
                left.unlink(missing_ok=True)

    def _segments_of(self, number: int) -> tuple[str, ...]:
        """The segments that a manifest names, which is read once."""
        known = self._named.get(number)
        if known is not None:
            return known
        try:
            return read_manifest(self._path, f"manifest-{number:010}.json").segments
        except StorageFault:
            return ()
