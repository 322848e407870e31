"""Snapshots for executors that share no folder with the run: its files at an address, and their copies on a machine.

The run writes each file of a snapshot once, then a list of the snapshot's files, by which its workers know them: size
and digest of each, and which of them a shard needs. Names are those in the output folder, below a folder that each
start of a run makes anew, so that no name ever has another content. The first task on a machine that needs a file
copies it into this user's cache, checks it, and all of the machine's Python workers map it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.index import INDEX, Snapshot
from triplecast.index.snapshot import read_checked, read_manifest, seal_checked
from triplecast.index.writer import MANIFESTS_KEPT
from triplecast.journal import Journal
from triplecast.kernels.cache import choose_folder
from triplecast.machine_cache import alone, drop_oldest
from triplecast.partition.folder import SHARDS, ShardFolder
from triplecast.pipeline.hearers import HEARERS, HearersWriter
from triplecast.pipeline.object_store import ObjectStore, Sealed, seal, shown
from triplecast.pipeline.sharding import ROUTERS, WHOLE

PLACE = "snapshots place"
"""The setting that has what the files of this output folder are below, at whatever address."""
RUNS_KEPT = 4
"""Starts of runs whose files a machine keeps: the last ones used."""
_LISTS = "lists"
_FETCHING = ".fetching"


class SnapshotPlace(NamedTuple):
    """Where the workers of a run find its snapshots."""

    address: str
    run: str
    """The folder there that has the files."""

    @property
    def name(self) -> str:
        """Of the folder that has the copies on a machine."""
        return f"{hashlib.blake2b(self.address.encode(), digest_size=8).hexdigest()}-{self.run.replace('/', '-')}"


class SnapshotSharer:
    """Writes the snapshots of a run to an address; the registry's thread calls it."""

    def __init__(self, address: str, folder: Path, journal: Journal) -> None:
        """What earlier starts left is deleted. Raises InputError for an address that cannot be, StorageFault where
        nothing can be written there."""
        self._store = ObjectStore(address)
        self._folder = folder
        own = journal.settings().get(PLACE, f"triplecast-{secrets.token_hex(6)}")
        journal.set_setting(PLACE, own)
        self.place = SnapshotPlace(self._store.address, f"{own}/run-{secrets.token_hex(6)}")
        for left in self._store.list(own):
            self._store.delete("/".join((own, *left.path)))
        self._hearers = HearersWriter(journal)
        self._written: dict[str, Sealed] = {}
        self._kept: dict[str, frozenset[str]] = {}
        """The files of the last manifests, by the name of each."""

    def publish(self, snapshot: Snapshot) -> None:
        """Write what is new of a snapshot, then its list. Raises `StorageFault`."""
        needed = needed_files(self._folder, snapshot.manifest)
        name, content = self._hearers.write(snapshot.covers)
        if name not in self._written:
            self._written[name] = self._store.write(self._at(name), content)
        needed = {shard: (name, *files) for shard, files in needed.items()}
        files = sorted({each for some in needed.values() for each in some})
        for each in files:
            if each not in self._written:
                self._written[each] = self._store.write(self._at(each), self._folder / each)
                reach("snapshots.written")
        listing = {str(shard): [(each, *self._written[each]) for each in some] for shard, some in needed.items()}
        listed = f"{_LISTS}/{snapshot.manifest}"
        self._store.write(self._at(listed), seal_checked({"files": listing, "hearers": name}))
        self._kept[snapshot.manifest] = frozenset((*files, listed))
        self._sweep()

    def _sweep(self) -> None:
        while len(self._kept) > MANIFESTS_KEPT:
            gone = self._kept.pop(next(iter(self._kept)))
            for name in sorted(gone - frozenset().union(*self._kept.values())):
                self._written.pop(name, None)
                self._store.delete(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self.place.run}/{name}"


def needed_files(folder: Path, manifest: str) -> dict[int, tuple[str, ...]]:
    """The files, below an output folder, that opening each shard of a manifest takes; `ROUTERS`, the index stage; and
    `WHOLE`, the whole."""
    shards: dict[int, tuple[str, ...]] = {}
    index = manifest
    if manifest.startswith(SHARDS):
        found = ShardFolder(folder / SHARDS).manifest(manifest)
        index = found.index
        routers = [each for cut in found.cuts if cut.router is not None for each in cut.router if each is not None]
        shards[ROUTERS] = (f"{SHARDS}/{manifest}", *(f"{SHARDS}/{each.name}" for each in routers))
        for shard in range(found.shards):
            parts = [part for cut in found.cuts if (part := cut.parts[shard]) is not None]
            shards[shard] = (f"{SHARDS}/{manifest}", *(f"{SHARDS}/{each.name}" for each in parts))
    whole = [f"{INDEX}/{each}" for each in (index, *read_manifest(folder / INDEX, index).segments)]
    shards[WHOLE] = tuple(whole if index == manifest else (f"{SHARDS}/{manifest}", *whole))
    return shards


class FetchedShard(NamedTuple):
    """What a worker has of a snapshot."""

    folder: Path
    """In which the files of a shard lie as in an output folder."""
    hearers: Path
    """What its registrations want to hear (`pipeline.hearers`)."""


@lru_cache(maxsize=64)
def fetch(place: SnapshotPlace, manifest: str, shard: int) -> FetchedShard:
    """Have the files of one shard on this machine. Raises `StorageFault`, naming the file that cannot be had or is not
    the one that was written."""
    cache = _cache()
    with alone(cache):
        folder = cache / place.name
        if not folder.is_dir():
            drop_oldest(cache, RUNS_KEPT - 1)
            folder.mkdir(mode=0o700)
        os.utime(folder)
        return _fetch_into(folder, ObjectStore(place.address), place.run, manifest, shard)


def forget_damaged(place: SnapshotPlace, manifest: str, shard: int) -> None:
    """Drop those of a shard's files that are damaged on this machine, so that the next task has them fetched again."""
    fetch.cache_clear()
    cache = _cache()
    with alone(cache), suppress(StorageFault):
        folder = cache / place.name
        for name, size, digest in read_checked(folder / _LISTS / manifest)["files"][str(shard)]:
            with suppress(FileNotFoundError), (folder / name).open("rb") as file:
                if seal(file) != Sealed(size, digest):
                    (folder / name).unlink()


def _cache() -> Path:
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))
    return choose_folder("snapshots", os.environ, home, Path(tempfile.gettempdir()))


def _fetch_into(folder: Path, store: ObjectStore, run: str, manifest: str, shard: int) -> FetchedShard:
    listed = folder / _LISTS / manifest
    if not listed.exists():
        _copy(store, f"{run}/{_LISTS}/{manifest}", listed, None)
        _sweep_files(folder)
    content = read_checked(listed)
    for name, size, digest in content["files"][str(shard)]:
        copied = folder / name
        if not copied.exists() or copied.stat().st_size != size:
            _copy(store, f"{run}/{name}", copied, Sealed(size, digest))
    return FetchedShard(folder, folder / content["hearers"])


def _copy(store: ObjectStore, name: str, copied: Path, wanted: Sealed | None) -> None:
    copied.parent.mkdir(mode=0o700, exist_ok=True)
    making = copied.with_name(copied.name + _FETCHING)
    try:
        with making.open("wb") as file:
            came = store.copy_to(name, file)
        if wanted not in (None, came):
            found = f"it is not the file that was written: {came} in place of {wanted}"
            raise StorageFault(f"{shown(store.address)}/{name}", found, "start the run again: it writes its files anew")
        making.replace(copied)
    except BaseException:
        making.unlink(missing_ok=True)
        raise


def _sweep_files(folder: Path) -> None:
    """Drop what the last `MANIFESTS_KEPT` lists do not name."""
    lists = sorted((folder / _LISTS).glob("*.json"), key=lambda each: each.name)
    for each in lists[:-MANIFESTS_KEPT]:
        each.unlink()
    kept = [some for each in lists[-MANIFESTS_KEPT:] for some in read_checked(each)["files"].values()]
    needed = {name for some in kept for name, *_ in some}
    for kind in (INDEX, SHARDS, HEARERS):
        for path in (folder / kind).glob("*"):
            if f"{kind}/{path.name}" not in needed:
                path.unlink(missing_ok=True)
