"""The index on disk: segment files under numbered manifests. It is a cache of the journal's registry.

A manifest is immutable and names its segments; the one with the highest number holds. So a worker that was given a
manifest's name sees the same snapshot for as long as the files stay: manifests older than the last `MANIFESTS_KEPT`,
and segments that none of the kept ones names, are deleted. (A file that is mapped stays readable after its deletion.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from triplecast.errors import StorageFault
from triplecast.faults import reach
from triplecast.index.file import TEMPORARY, Sole
from triplecast.index.manifest import Manifest, open_segment, read_manifest, write_manifest
from triplecast.index.merge import apply_changes
from triplecast.index.segment import Segment
from triplecast.index.snapshot import Snapshot, make_removals
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
        self._manifest = Manifest(0, 0, (), ())
        self._named: dict[int, tuple[str, ...]] = {}
        """The segments of the kept manifests that were written or read here, by the manifest's number."""

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
        self._manifest = Manifest(max(self._numbers("manifest"), default=0), 0, (), ())
        return self.snapshot()

    def apply(
        self, added: Sequence[Registration], removed: Sequence[tuple[int, int]], covers: int, needed_from: int = 0
    ) -> Snapshot:
        """Writes the snapshot after these changes of the registry: (registration, position of its removal) for each
        removed.

        `needed_from`: no publication at or before this position will be asked again. Raises `StorageFault`, and then
        nothing has changed.
        """
        known = dict(self._manifest.removed)
        grown = apply_changes(tuple(self._segments.values()), known, added, removed, needed_from)
        names = {id(segment): name for name, segment in self._segments.items()}
        segments: dict[str, Segment] = {}
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFault(str(self._path), f"cannot be made: {error.strerror}", "mend the folder above") from error
        for segment in grown.segments:
            name = names.get(id(segment))
            if name is None:
                name = f"segment-{max([*self._numbers('segment'), 0]) + 1:010}.tcx"
                segment.write(self._path / name, self._sole)
                reach("index.segment-written")
                segment = self._open_written(name)
            segments[name] = segment
        manifest = Manifest(
            max([*self._numbers("manifest"), self._manifest.number]) + 1,
            covers,
            tuple(segments),
            tuple(sorted(grown.removed.items())),
            max(self._manifest.needed_from, needed_from),
        )
        write_manifest(self._path, manifest, self._sole)
        self._segments, self._manifest = segments, manifest
        self._named[manifest.number] = manifest.segments
        with self._sole():
            self._sweep()
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        """The one opened or applied last."""
        manifest = self._manifest
        return Snapshot(
            manifest.covers, tuple(self._segments.values()), make_removals(dict(manifest.removed)), manifest.name
        )

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
        needed = {name for names in self._named.values() for name in names}
        for number in numbers[:-MANIFESTS_KEPT]:
            (self._path / f"manifest-{number:010}.json").unlink(missing_ok=True)
        for number in self._numbers("segment"):
            name = f"segment-{number:010}.tcx"
            if name not in needed:
                (self._path / name).unlink(missing_ok=True)
        for left in self._path.glob(f"*{TEMPORARY}"):
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
