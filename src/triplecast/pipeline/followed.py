"""Journal and outbox as Spark's Python processes see them: one reader a process, kept from batch to batch."""

from __future__ import annotations

import gc
from functools import lru_cache
from pathlib import Path

from triplecast.journal import Journal, JournalFile
from triplecast.journal.records import DATABASE
from triplecast.outbox import OutboxReader
from triplecast.sqlite import file_identity


def followed_journal(folder: Path) -> JournalFile:
    """This process's reader of the journal in a run's output folder."""
    return _journal(folder, file_identity(folder / DATABASE))


@lru_cache(maxsize=2)
def _journal(folder: Path, identity: object) -> JournalFile:
    """One for each file: a journal that took the place of another shares nothing that was read of that."""
    return Journal.read_only(folder)


@lru_cache(maxsize=2)
def followed_outbox(folder: Path) -> OutboxReader:
    """This process's reader of the outbox in a run's output folder."""
    return OutboxReader.read_only(folder)


@lru_cache(maxsize=1)
def settle() -> None:
    """Takes all objects that this process holds now out of the reach of the garbage collector, once.

    PySpark collects all generations after each task; over the modules and kernels that a worker has loaded that took
    80 ms, ten times the matching of a small slice. To be called when the first task has loaded them.
    """
    gc.collect()
    gc.freeze()
