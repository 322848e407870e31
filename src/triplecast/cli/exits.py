"""The exit codes of all commands."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    PARTLY = 1
    """Done, but something was rejected, refused or undecided."""
    FAILED = 2
    """Wrong usage, or nothing could be done."""
    NOTHING = 3
    """Done; nothing rejected, nothing matched."""
    INTERRUPTED = 130
    """Interrupted with work left; the shell's code."""
    UNREAD = 141
    """The reader of stdout has gone; the shell's code."""
