"""The journal as Spark's Python processes see it: one reader a process, kept from batch to batch."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from triplecast.journal import Journal, JournalReader


@lru_cache(maxsize=2)
def followed_journal(folder: Path) -> JournalReader:
    """This process's reader of the journal in a run's output folder."""
    return Journal.read_only(folder)
