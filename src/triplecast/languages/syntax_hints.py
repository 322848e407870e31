"""Hints for common mistakes in a query's syntax."""

from __future__ import annotations

import re
from typing import NamedTuple

from lark.lexer import Token

from triplecast.languages.tokens import clip

_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'{}|^`\\]*")
_AGGREGATES = frozenset(("COUNT", "SET_FUNCTION", "GROUP_CONCAT", "FUNCTION"))


class SyntaxHint(NamedTuple):
    """A recognised mistake: its offset, and a message with the fix."""

    offset: int
    message: str


def hint_at(text: str, token: Token) -> SyntaxHint | None:
    """The mistake that an unexpected `token` of `text` is part of, if it is a common one."""
    offset = token.start_pos or 0
    for address in _ADDRESS.finditer(text, max(0, offset - 2000), offset + 2000):
        if address.start() < offset < address.end():
            return SyntaxHint(address.start(), f"{clip(address[0])} is no IRI here; write it in angle brackets: <…>")
    if token == "=" and text[max(0, offset - 1) : offset] == "=":
        return SyntaxHint(offset - 1, "unexpected ==; SPARQL compares with one =")
    if token.type in _AGGREGATES and "{" not in text[:offset]:
        return SyntaxHint(
            offset, f"an expression in SELECT needs brackets and a name; write ({token.upper()}(…) AS ?name)"
        )
    return None
