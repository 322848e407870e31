"""The index on disk: segment files under numbered manifests. It is a cache of the journal's registry.

A manifest is immutable and names its segments; the one with the highest number is current. A worker that has a
manifest's name sees the same snapshot while its files exist: manifests older than the last `MANIFESTS_KEPT`, and
segments that no kept manifest names, are deleted. A mapped file stays readable after its deletion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.index.file import TEMPORARY, Sole
from triplecast.index.manifest import Manifest, open_segment, read_manifest, write_manifest
from triplecast.index.merge import apply_changes
from triplecast.index.rebuilding import DueSegments, RebuiltSegment, find_due, rebuild, replace_due
from triplecast.index.removals import NO_REMOVALS, Removals
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import Registration

INDEX = "index"
"""The index's folder beside the journal."""
MANIFESTS_KEPT = 16
_NAME = re.compile(r"(manifest|segment)-([0-9]{10})\.(json|tcx)")


class IndexFolder:
    """The one writer of an index folder. Its caller holds the journal's lock; files change inside `sole`
    (`Journal.sole`), so that a writer that another has replaced changes none."""

    def __init__(self, path: Path, sole: Sole = nullcontext) -> None:
        self._path = path
        self._sole = sole
        self._segments: dict[str, Segment] = {}
        self._manifest = Manifest(0, 0, (), NO_REMOVALS)
        self._named: dict[int, tuple[str, ...]] = {}
        """The segments of kept manifests that this process wrote or read, by the manifest's number."""
        self._naming = Lock()
        self._last = 0
        """The highest segment number used."""
        self._remade = ""
        """The name of the last rebuilt segment, which no manifest may name yet."""

    @property
    def covers(self) -> int:
        """The last registry position in the current snapshot."""
        return self._manifest.covers

    @property
    def needed_from(self) -> int:
        """The position after which the current snapshot is valid."""
        return self._manifest.needed_from

    def is_compiled_for(self, operators: OperatorSet) -> bool:
        """Whether no operator takes other arguments than when the current snapshot's subscriptions were compiled."""
        return self._manifest.is_compiled_for(operators)

    def open(self) -> Snapshot:
        """Open the latest snapshot, or an empty one that covers position 0 if there is no manifest.

        Raises `StorageFault` for a file that is missing, damaged or of another format: call `reset`, then `apply` the
        registry.
        """
        numbers = self._numbers("manifest")
        if not numbers:
            return self.reset()
        self._manifest = read_manifest(self._path, f"manifest-{numbers[-1]:010}.json")
        self._segments = {name: open_segment(self._path / name) for name in self._manifest.segments}
        return self.snapshot()

    def reset(self) -> Snapshot:
        """Start with an empty snapshot, which is not written, whatever the folder contains."""
        self._segments = {}
        self._manifest = Manifest(max(self._numbers("manifest"), default=0), 0, (), NO_REMOVALS)
        return self.snapshot()

    def apply(
        self,
        added: Sequence[Registration],
        removed: Sequence[tuple[int, int]],
        covers: int,
        needed_from: int = 0,
        compiler: SubscriptionCompiler = DEFAULT_COMPILER,
    ) -> Snapshot:
        """Write the snapshot after these registry changes; `removed` has (registration, position of its removal).

        `needed_from`: no publication at or before this position will be matched again. `compiler`
        compiles those `added`. Raises `StorageFault`; then nothing has changed.
        """
        grown = apply_changes(
            tuple(self._segments.values()), self._manifest.removals, added, removed, needed_from, compiler
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
        operators = {each.iri: each.signature for each in compiler.operators} | {**self._manifest.operators}
        return self._write(segments, grown.removals, covers, needed_from, operators)

    def find_due(self) -> DueSegments | None:
        manifest = self._manifest
        return find_due(tuple(self._segments.values()), manifest.removals, manifest.needed_from)

    def rebuild(self, due: DueSegments) -> RebuiltSegment:
        """Write the live subscriptions of due segments as one segment, in any thread; `adopt` has to follow. Raises
        `StorageFault`."""
        segment = rebuild(due)
        if segment is None:
            return RebuiltSegment(None)
        name = self._new_name()
        self._remade = name
        segment.write(self._path / name, self._sole)
        return RebuiltSegment(self._open_written(name), name)

    def adopt(self, due: DueSegments, rebuilt: RebuiltSegment) -> bool:
        """Write the snapshot with the rebuilt segment in the place of the due ones; return False if those have been
        merged meanwhile. Raises `StorageFault`; then nothing has changed."""
        segments = replace_due(tuple(self._segments.values()), due, rebuilt.segment)
        if segments is None:
            return False
        names = {segment: name for name, segment in self._segments.items()}
        named = {names.get(segment, rebuilt.name): segment for segment in segments}
        manifest = self._manifest
        removals = manifest.removals.within(segment.tables.registrations for segment in segments)
        self._write(named, removals, manifest.covers, manifest.needed_from, manifest.operators)
        return True

    def snapshot(self) -> Snapshot:
        """The current snapshot."""
        manifest = self._manifest
        return Snapshot(manifest.covers, tuple(self._segments.values()), manifest.removals, manifest.name)

    def _write(
        self,
        segments: dict[str, Segment],
        removals: Removals,
        covers: int,
        needed_from: int,
        operators: Mapping[str, str],
    ) -> Snapshot:
        """Write the manifest of these segments, whose files exist."""
        number = max([*self._numbers("manifest"), self._manifest.number]) + 1
        manifest = Manifest(number, covers, tuple(segments), removals, needed_from, operators)
        write_manifest(self._path, manifest, self._sole)
        self._segments, self._manifest = segments, manifest
        self._named[manifest.number] = manifest.segments
        with self._sole():
            self._sweep()
        return self.snapshot()

    def _new_name(self) -> str:
        """Choose an unused name for a segment's file, in any thread."""
        with self._naming:
            self._last = max([*self._numbers("segment"), self._last]) + 1
            return f"segment-{self._last:010}.tcx"

    def _open_written(self, name: str) -> Segment:
        try:
            return open_segment(self._path / name)
        except StorageFault:
            with self._sole():  # raises if it is gone because another process has become the writer
                raise

    def _numbers(self, kind: str) -> list[int]:
        """The numbers of the folder's manifests or segments, ascending."""
        names = [entry.name for entry in self._path.iterdir()] if self._path.is_dir() else []
        matches = [match for match in map(_NAME.fullmatch, names) if match and match[1] == kind]
        return sorted(int(match[2]) for match in matches)

    def _sweep(self) -> None:
        """Delete the files that no kept manifest needs, and unfinished ones of killed processes. An unreadable manifest
        keeps no file."""
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
        """The segments that a manifest names; each manifest is read once."""
        known = self._named.get(number)
        if known is not None:
            return known
        try:
            return read_manifest(self._path, f"manifest-{number:010}.json").segments
        except StorageFault:
            return ()
