"""Readers of a run's journal and outbox in Spark's Python processes: one of each per process, kept between batches."""

from __future__ import annotations

import gc
from functools import lru_cache
from pathlib import Path

from triplecast.journal import Journal, JournalFile
from triplecast.journal.records import DATABASE
from triplecast.outbox import OutboxReader
from triplecast.sqlite import file_identity


def journal_reader(folder: Path) -> JournalFile:
    """Return this process's reader of the journal in a run's output folder."""
    return _journal(folder, file_identity(folder / DATABASE))


@lru_cache(maxsize=2)
def _journal(folder: Path, identity: object) -> JournalFile:
    """One for each file: a journal that took the place of another shares nothing that was read of that."""
    return Journal.read_only(folder)


@lru_cache(maxsize=2)
def outbox_reader(folder: Path) -> OutboxReader:
    """Return this process's reader of the outbox in a run's output folder."""
    return OutboxReader.read_only(folder)


@lru_cache(maxsize=1)
def freeze_objects() -> None:
    """Exempt all objects of this process from garbage collection, once; to be called at the end of the first task.

    PySpark collects all generations after each task: over loaded modules and kernels that took 80 ms, ten times the
    matching of a small slice.
    """
    gc.collect()
    gc.freeze()
