"""What newcomers write and SPARQL does not read, told by what they meant."""

from __future__ import annotations

import re
from typing import NamedTuple

from lark.lexer import Token

from triplecast.languages.tokens import clip

_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'{}|^`\\]*")
_AGGREGATES = frozenset(("COUNT", "SET_FUNCTION", "GROUP_CONCAT", "FUNCTION"))


class Meant(NamedTuple):
    """A slip that was recognised: where it begins and what is said of it."""

    offset: int
    message: str


def meant_by_token(text: str, token: Token) -> Meant | None:
    """What `token`, which cannot stand where it stands in `text`, is part of."""
    offset = token.start_pos or 0
    for address in _ADDRESS.finditer(text, max(0, offset - 2000), offset + 2000):
        if address.start() < offset < address.end():
            return Meant(address.start(), f"{clip(address[0])} is no IRI here; write it in angle brackets: <…>")
    if token == "=" and text[max(0, offset - 1) : offset] == "=":
        return Meant(offset - 1, "unexpected ==; SPARQL compares with one =")
    if token.type in _AGGREGATES and "{" not in text[:offset]:
        return Meant(
            offset, f"an expression in SELECT stands in brackets and has a name; write ({token.upper()}(…) AS ?name)"
        )
    return None
