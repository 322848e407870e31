"""Carried subscriptions, compiled once a machine: an index in this user's cache, mapped by all its Python workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from triplecast.errors import StorageFault
from triplecast.index import INDEX, IndexWriter, SegmentFolder, Snapshot
from triplecast.kernels.cache import choose_folder
from triplecast.machine_cache import alone, drop_oldest
from triplecast.offline import OfflineStages, index_subscriptions
from triplecast.spark.subscriptions import CarriedSubscriptions
from triplecast.taxonomy import Taxonomy

KEPT = 8
"""Compiled sets of subscriptions that a machine keeps: the last ones used."""
_NAMES = "names.arrow"


class Compiled(NamedTuple):
    """What a worker matches documents with."""

    snapshot: Snapshot
    names: pa.Array
    """Of the subscriptions; that of registration i is at i - 1."""
    taxonomy: Taxonomy
    stages: OfflineStages
    """They live as long as this process, which a worker of Spark ends."""


@lru_cache(maxsize=1)
def open_compiled(carried: CarriedSubscriptions, schedule: str) -> Compiled:
    """Open the subscriptions, compiled by whoever needs them first on this machine."""
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))
    cache = choose_folder("spark", os.environ, home, Path(tempfile.gettempdir()))
    with alone(cache):
        snapshot, names = open_folder(cache, carried)
    return Compiled(snapshot, names, carried.read_taxonomy(), OfflineStages(carried.operators, schedule))


def open_folder(cache: Path, carried: CarriedSubscriptions) -> tuple[Snapshot, pa.Array]:
    """The snapshot and the names in `cache`, made where they are missing or damaged. The caller is alone there."""
    folder = cache / carried.digest
    try:
        return _map(folder)
    except (StorageFault, OSError, pa.ArrowInvalid):
        shutil.rmtree(folder, ignore_errors=True)
    drop_oldest(cache, KEPT - 1)
    made = Path(tempfile.mkdtemp(prefix="making-", dir=cache))
    try:
        _compile(made, carried)
        os.rename(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return _map(folder)


def _compile(folder: Path, carried: CarriedSubscriptions) -> None:
    subscriptions = carried.read_texts()
    (folder / INDEX).mkdir()
    index = IndexWriter(SegmentFolder(folder / INDEX))
    index_subscriptions(subscriptions, carried.operators, index)
    index.close()
    names = pa.record_batch({"name": pa.array([each.name for each in subscriptions], pa.string())})
    with pa.OSFile(str(folder / _NAMES), "wb") as sink, pa.ipc.new_file(sink, names.schema) as writer:
        writer.write_batch(names)


def _map(folder: Path) -> tuple[Snapshot, pa.Array]:
    names = pa.ipc.open_file(pa.memory_map(str(folder / _NAMES))).get_batch(0).column(0)
    os.utime(folder)
    return IndexWriter(SegmentFolder(folder / INDEX)).open(), names
