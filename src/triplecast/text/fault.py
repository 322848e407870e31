"""What is wrong with the text of a full-text selection, and where."""

from __future__ import annotations


class TextFault(ValueError):
    """It is not in the grammar, or asks for what cannot be: `offset` into its text, in characters, and what was
    expected there."""

    def __init__(self, offset: int, message: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.expected = expected


class TextRefused(TextFault):
    """It is understood and not answered: the `construct` by name, the reason (`message`) and the `hint`."""

    def __init__(self, offset: int, construct: str, reason: str, hint: str) -> None:
        super().__init__(offset, reason)
        self.construct = construct
        self.hint = hint
