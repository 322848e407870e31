"""What is remembered of a file that was read, so that it is read once."""

from __future__ import annotations

from typing import NamedTuple


class SourceState(NamedTuple):
    """A file of the inbox as it was when it was taken; the journal keeps it beside the documents it brought."""

    size: int
    mtime_ns: int
    digest: bytes
    """SHA-256 of the content, or of that part of a ``.jsonl`` file that was read; empty where none was."""
    outcome: str
    """``accepted``, ``rejected``, or how far a ``.jsonl`` file was read."""
