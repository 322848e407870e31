"""The tokens of RDQL: Jena's, and what the papers write besides (IRIs without brackets, ``#`` comments).

Names, strings and numbers are SPARQL's (`tokens`). A pattern of ``=~`` or ``!~`` is one token with its operator,
because a ``/`` elsewhere divides; ``//`` and ``/* … */`` are comments outside IRIs and strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lark.lexer import Token

from triplecast.languages.tokens import (
    IRI_REFERENCE,
    LITERAL_PARTS,
    LOCAL_NAME,
    NAME_CHARACTER,
    NAME_START,
    NUMBER,
    PREFIX_NAME,
    SPACE,
    STRING,
    VARIABLE_CHARACTER,
    Source,
    describe,
    open_string,
    read_tokens,
)  # fmt: skip

BARE_IRI = r"[A-Za-z][A-Za-z0-9+.\-]*+://[^\s<>\"{}|^`\\,()]++"
_TAG = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"

TOKEN = re.compile(
    rf"\?[{NAME_START}_0-9][{VARIABLE_CHARACTER}]*+|{IRI_REFERENCE}|[,()]|//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|\#[^\r\n]*+"
    rf"|{BARE_IRI}|{PREFIX_NAME}{LOCAL_NAME}|[{NAME_START}_][{NAME_CHARACTER}]*+"
    rf"|(?:{STRING})(?:{SPACE}(?:{_TAG}|\^\^{SPACE}(?:{IRI_REFERENCE}|{PREFIX_NAME}{LOCAL_NAME})))?"
    r"|[=!]~[ \t\r\n]*+m?/(?![/*])(?:[^/\\\r\n]|\\[^\r\n])*+/[A-Za-z]*+|[=!]~"
    rf"|{NUMBER}|&&|\|\||==|!=|<=|>>>|>>|>=|<<|\^\^|\S"
)
MATCH_PARTS = re.compile(r"([=!])~[ \t\r\n]*(?:m?/((?:[^/\\]|\\.)*)/([A-Za-z]*))?")

_PUNCTUATION = {
    ",": "_COMMA", "(": "_LPAR", ")": "_RPAR", "*": "STAR", "/": "SLASH", "+": "PLUS", "-": "MINUS", "!": "BANG",
    "||": "_OR", "&&": "_BOTH", "==": "EQUALITY", "!=": "EQUALITY", "<": "COMPARISON", ">": "COMPARISON",
    "<=": "COMPARISON", ">=": "COMPARISON", "=~": "MATCH_SIGN", "!~": "MATCH_SIGN",
}  # fmt: skip
_KEYWORDS = {
    "SELECT": "_SELECT", "FROM": "_FROM", "SOURCE": "_SOURCE", "WHERE": "_WHERE", "AND": "_AND", "USING": "_USING",
    "SUCHTHAT": "_SUCHTHAT", "FOR": "_FOR", "EQ": "EQ", "NE": "NE", "TRUE": "BOOLEAN", "FALSE": "BOOLEAN",
}  # fmt: skip
_AS_NAMES = frozenset(_KEYWORDS.values()) - {"BOOLEAN"}
_WORDS = {
    "NAME": "a name", "EQ": "eq", "NE": "ne", "EQUALITY": "== or !=", "COMPARISON": "<, <=, > or >=", "_BOTH": "&&",
    "MATCH": "=~ or !~ with a pattern", "MATCH_SIGN": "=~ or !~ with a pattern", "_AND": "AND", "_COMMA": "a comma",
}  # fmt: skip

_BITS = ("RDQL's operators on bits have no meaning for RDF values", "compare, add, subtract, multiply or divide")
_REFUSED = {
    **dict.fromkeys(("&", "|", "^", "~", "<<", ">>", ">>>"), _BITS),
    "%": ("there is no remainder among SPARQL's and RDQL's common operators", "compare, add, subtract or divide"),
    "NULL": ("RDF has no null", "leave it out; a pattern that has no triple gives no row"),
}


def name_terminals(terminals: Iterable[str]) -> tuple[str, ...]:
    """Words for a set of terminals; where a name is allowed, keywords are too, which is not worth listing."""
    names = frozenset(terminals)
    return describe(names - _AS_NAMES if names >= _AS_NAMES else names, _WORDS)


def terminal(text: str) -> str:
    """The grammar's name for a token; empty for a comment, ``UNKNOWN`` for what is no token of the language."""
    known = _PUNCTUATION.get(text)
    if known is not None:
        return known
    first = text[0]
    if first == "?" and len(text) > 1:
        return "VAR"
    if first == "<" and text[-1] == ">":
        return "IRI"
    if first in "\"'" and len(text) > 1:
        parts = LITERAL_PARTS.fullmatch(text)
        return "UNKNOWN" if parts is None else "LITERAL" if parts[2] or parts[3] else "STRING"
    if first in "+-.0123456789" and text != ".":
        return "SIGNED" if first in "+-" else "INTEGER" if text.isdigit() else "NUMBER"
    if first == "#" or text[:2] in ("//", "/*"):
        return ""
    if text[:2] in ("=~", "!~"):
        return "MATCH"
    if ":" in text:
        return "IRI" if len(text) > 1 else "UNKNOWN"
    return _KEYWORDS.get(text.upper(), "NAME" if first == "_" or first.isalpha() else "UNKNOWN")


def tokenise(source: Source) -> Iterator[Token]:
    """All tokens but comments, one by one, numbered as in `tokens.tokenise`; raises what that raises."""
    return read_tokens(source, TOKEN, terminal, _check)


def _check(source: Source, offset: int, text: str, kind: str) -> None:
    refused = _REFUSED.get(text.upper()) if kind else None
    if refused is not None:
        raise source.refusal(offset, text, *refused)
    if kind == "UNKNOWN" and text[0] in "\"'":
        raise open_string(source, offset)
    if kind and source.text.startswith("/*", offset):
        raise source.fault(offset, "this comment does not end", ("*/",))
