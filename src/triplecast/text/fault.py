"""Errors in the text of a full-text selection, with their place."""

from __future__ import annotations


class TextFault(ValueError):
    """Text outside the grammar, or that cannot match: `offset` in characters, and what was expected there."""

    def __init__(self, offset: int, message: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.expected = expected


class TextRefused(TextFault):
    """A construct that is understood but not answered, with its name, the reason (`message`) and a `hint`."""

    def __init__(self, offset: int, construct: str, reason: str, hint: str) -> None:
        super().__init__(offset, reason)
        self.construct = construct
        self.hint = hint
