"""What the exit codes of all commands mean."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    PARTLY = 1
    """Done, but something was rejected, refused or undecided."""
    FAILED = 2
    """Usage, or nothing could be done."""
    NOTHING = 3
    """Done, nothing rejected, nothing matched."""
    INTERRUPTED = 130
    """As the shell has it: an interrupt left something undone."""
    UNREAD = 141
    """As the shell has it: the reader of stdout has gone."""
