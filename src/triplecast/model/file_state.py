"""The state of a file when it was read, stored so that it is read once."""

from __future__ import annotations

from typing import NamedTuple


class FileState(NamedTuple):
    """An inbox file as it was when it was read; the journal stores it with the file's documents."""

    size: int
    mtime_ns: int
    digest: bytes
    """SHA-256 of the content, or of the part of a ``.jsonl`` file read so far; empty if none was read."""
    outcome: str
    """``accepted``, ``rejected``, or how far a ``.jsonl`` file was read."""
