"""What is wrong with the text of a full-text selection, and where."""

from __future__ import annotations


class TextFault(ValueError):
    """`offset` into the selection's text, in characters; `reason` and `mend` for what is known but not answered."""

    def __init__(self, offset: int, message: str, expected: tuple[str, ...] = (), refused: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.expected = expected
        self.refused = refused
        """The construct's name when it is refused rather than misspelt; `message` is the reason then, and the first of
        `expected` the mend."""
