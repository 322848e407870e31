"""The tokens of SPARQL: one regular expression, shared by the parser and by the fast pass over known templates.

Tokens are those of SPARQL 1.1 Query, section 19.8 (longest match), with two exceptions that save work and change no
query's meaning: a literal with its language tag or datatype is one token, and a character that begins no token is one.
Every quantifier that could be tried twice over the same text is possessive, so the pass is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import MappingProxyType

from lark.lexer import Token

from triplecast.errors import TAG_HINT, QueryRefused, QuerySyntaxError
from triplecast.languages.refusals import MAX_CHARACTERS, MAX_NESTING, MAX_TOKENS, TRIPLE_TERM, refuse_size, refuse_word
from triplecast.terms.nearness import nearest_names

NAME_START = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
VARIABLE_CHARACTER = NAME_START + "_0-9\u00b7\u0300-\u036f\u203f-\u2040"
NAME_CHARACTER = VARIABLE_CHARACTER + r"\-"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
SPACE = r"(?:[ \t\r\n]|\#[^\r\n]*)*+"

IRI_REFERENCE = r'<[^<>"{}|^`\\\x00-\x20]*+>'
PREFIX_NAME = rf"(?:[{NAME_START}][{NAME_CHARACTER}]*+(?:\.{{1,8}}+[{NAME_CHARACTER}]++){{0,8}}+)?:"
_LOCAL_LATER = rf"(?:[{NAME_CHARACTER}:]|{_ESCAPED})"
NAME = rf"{PREFIX_NAME}(?:(?:[{NAME_START}_:0-9]|{_ESCAPED}){_LOCAL_LATER}*+(?:\.++{_LOCAL_LATER}++)*+)?"
STRING = (
    r'"""(?:[^"\\]++|\\(?s:.)|"(?!""))*+"""'
    r"|'''(?:[^'\\]++|\\(?s:.)|'(?!''))*+'''"
    r'|"(?:[^"\\\n\r]++|\\[^\r\n])*+"'
    r"|'(?:[^'\\\n\r]++|\\[^\r\n])*+'"
)
_TAG = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?"
_VARIABLE = rf"[?$][{NAME_START}_0-9][{VARIABLE_CHARACTER}]*+"
_BLANK = rf"_:[{NAME_START}_0-9][{NAME_CHARACTER}]*+(?:\.++[{NAME_CHARACTER}]++)*+"
NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+[eE][+-]?[0-9]++|\.[0-9]++|[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?)"

FUNCTIONS = {
    "STR": (1, 1), "LANG": (1, 1), "LANGMATCHES": (2, 2), "DATATYPE": (1, 1), "BOUND": (1, 1), "IRI": (1, 1),
    "URI": (1, 1), "BNODE": (0, 1), "ABS": (1, 1), "CEIL": (1, 1), "FLOOR": (1, 1), "ROUND": (1, 1),
    "CONCAT": (0, None), "STRLEN": (1, 1), "UCASE": (1, 1), "LCASE": (1, 1), "ENCODE_FOR_URI": (1, 1),
    "CONTAINS": (2, 2), "STRSTARTS": (2, 2), "STRENDS": (2, 2), "STRBEFORE": (2, 2), "STRAFTER": (2, 2),
    "YEAR": (1, 1), "MONTH": (1, 1), "DAY": (1, 1), "HOURS": (1, 1), "MINUTES": (1, 1), "SECONDS": (1, 1),
    "TIMEZONE": (1, 1), "TZ": (1, 1), "NOW": (0, 0), "MD5": (1, 1), "SHA1": (1, 1), "SHA256": (1, 1),
    "SHA384": (1, 1), "SHA512": (1, 1), "COALESCE": (0, None), "IF": (3, 3), "STRLANG": (2, 2), "STRDT": (2, 2),
    "SAMETERM": (2, 2), "ISIRI": (1, 1), "ISURI": (1, 1), "ISBLANK": (1, 1), "ISLITERAL": (1, 1),
    "ISNUMERIC": (1, 1), "REGEX": (2, 3), "SUBSTR": (2, 3), "REPLACE": (3, 4),
}  # fmt: skip
"""Built-in functions by upper-case keyword: fewest and most arguments (None: any number)."""

CHUNKS_KEPT = 100_000
PROLOGUE = re.compile(
    r"(?:[ \t\r\n]++|\#[^\r\n]*+"
    rf"|(?i:PREFIX)(?=[ \t\r\n#]){SPACE}{PREFIX_NAME}(?=[ \t\r\n#<]){SPACE}{IRI_REFERENCE}"
    rf"|(?i:BASE){SPACE}{IRI_REFERENCE})*+"
)
"""Leading space, comments and well-formed declarations; the grammar says what is wrong with anything else."""

LITERAL_PARTS = re.compile(rf"({STRING})(?:{SPACE}@([A-Za-z0-9-]+))?(?:{SPACE}\^\^{SPACE}({IRI_REFERENCE}|{NAME}))?")
"""Text, tag and datatype; only RDQL's tokens have both."""
_TAGGED = re.compile(r"[\"'][ \t\r\n]*(@[\w-]*)")
_CODEPOINT = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(?s:.))")
_STRING_ESCAPE = re.compile(r"\\(?s:(.))")
_STRING_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'"}

PUNCTUATION = {
    "{": "_LBRACE", "}": "_RBRACE", "(": "_LPAR", ")": "_RPAR", "[": "_LSQB", "]": "_RSQB", ";": "_SEMICOLON",
    ",": "_COMMA", ".": "_DOT", "*": "STAR", "/": "SLASH", "|": "_VBAR", "^": "CIRCUMFLEX", "?": "QMARK", "+": "PLUS",
    "-": "MINUS", "!": "BANG", "||": "_OR", "&&": "_AND", "=": "EQUAL", "!=": "COMPARISON", "<": "COMPARISON",
    ">": "COMPARISON", "<=": "COMPARISON", ">=": "COMPARISON", "a": "A",
}  # fmt: skip

KEYWORDS = {
    "SELECT": "SELECT", "ASK": "_ASK", "CONSTRUCT": "_CONSTRUCT", "WHERE": "_WHERE", "DISTINCT": "DISTINCT",
    "REDUCED": "REDUCED", "AS": "_AS", "GROUP": "_GROUP", "BY": "_BY", "HAVING": "_HAVING", "ORDER": "_ORDER",
    "ASC": "ASC", "DESC": "DESC", "LIMIT": "_LIMIT", "OFFSET": "_OFFSET", "VALUES": "_VALUES", "UNDEF": "UNDEF",
    "UNION": "_UNION", "OPTIONAL": "_OPTIONAL", "MINUS": "_MINUS", "GRAPH": "_GRAPH", "FILTER": "_FILTER",
    "BIND": "_BIND", "IN": "_IN", "NOT": "_NOT", "EXISTS": "_EXISTS", "COUNT": "COUNT", "SUM": "SET_FUNCTION",
    "MIN": "SET_FUNCTION", "MAX": "SET_FUNCTION", "AVG": "SET_FUNCTION", "SAMPLE": "SET_FUNCTION",
    "GROUP_CONCAT": "GROUP_CONCAT", "SEPARATOR": "_SEPARATOR", "TRUE": "BOOLEAN", "FALSE": "BOOLEAN",
    "PREFIX": "PREFIX", "BASE": "BASE", "FTCONTAINS": "FTCONTAINS", "FTAND": "_FTAND", "FTOR": "_FTOR",
    "FTNOT": "_FTNOT", "FTNEAR": "_FTNEAR",
}  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    """A pattern of the longest of these words in either case, which tells them apart letter by letter."""
    endings: dict[str, list[str]] = {}
    for word in words:
        endings.setdefault(word[:1], []).append(word[1:])
    choices = [f"[{first}{first.lower()}]{_any_of(rest)}" for first, rest in endings.items() if first]
    return f"(?>{'|'.join(choices)}){'?' if '' in endings else ''}" if choices else ""


_KEYWORD = _any_of(chain(KEYWORDS, FUNCTIONS))
_OF_KEYWORDS = rf"{_KEYWORD}(?:(?![A-Za-z_])|(?=(?:{_KEYWORD})++(?![A-Za-z_])))"
"""A keyword alone, or before others in one word: ``ORDERBY`` is two, as the longest match has it."""

TOKEN = re.compile(
    rf"{_VARIABLE}|{IRI_REFERENCE}|\{{\||[{{}};,]|{NAME}|(?=[A-Za-z])(?:{_OF_KEYWORDS}|[A-Za-z][A-Za-z0-9_]*+)"
    rf"|(?:{STRING})(?:{SPACE}(?:{_TAG}|\^\^{SPACE}(?:{IRI_REFERENCE}|{NAME})))?"
    rf"|\([ \t\r\n]*+\)|\[[ \t\r\n]*+\]|{NUMBER}|{_BLANK}|&&|\|\||!=|<=|>=|<<|>>|\|\}}|\^\^|\#[^\r\n]*+|\S"
)
_SPACED_TOKEN = re.compile(rf"\s*+({TOKEN.pattern})")

_TYPOGRAPHIC = frozenset("“”„‟‘’‚‛«»")
"""Quotation marks as word processors set them."""
_OPENING = frozenset({"_LBRACE", "_LPAR", "_LSQB"})
_CLOSING = frozenset({"_RBRACE", "_RPAR", "_RSQB"})


@dataclass(frozen=True, slots=True)
class Source:
    """A query's text as written and as the grammar reads it (escapes resolved), and the caller's name for it."""

    written: str
    text: str
    name: str | None

    def place(self, at: int | Token) -> tuple[int, int, str]:
        """Line and column (from 1) in the text as written, and that line, for an offset into `text` or a token."""
        offset = at if isinstance(at, int) else at.start_pos or 0
        offset = _written_offset(self.written, offset) if self.written != self.text else offset
        before = self.written[:offset]
        line = before.count("\n") + 1
        start = before.rfind("\n") + 1
        end = self.written.find("\n", start)
        return line, offset - start + 1, self.written[start : end if end >= 0 else None].rstrip("\r")

    def fault(self, at: int | Token, message: str, expected: tuple[str, ...] = ()) -> QuerySyntaxError:
        line, column, source_line = self.place(at)
        return QuerySyntaxError(message, line, column, expected, source_line, self.name)

    def refusal(self, at: int | Token, construct: str, reason: str, hint: str) -> QueryRefused:
        line, column, _ = self.place(at)
        return QueryRefused(construct, reason, hint, line, column, self.name)


PLAIN_IRI = re.compile(r"<https?://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~/-]*)?(?:#[A-Za-z0-9._~/-]*)?>")
"""An absolute IRI of which nothing has to be checked or resolved: a token, and a term as it is written."""


def find_tokens(text: str, start: int = 0) -> list[str]:
    """The matches of `TOKEN`, in a quarter of its time where no token holds white space: then they are those of the
    pieces between it, which recur often. Otherwise in half its time: space is skipped before the
    alternatives are tried. Space at the end is taken away first (from a comment there, too), so that the
    pass stays linear."""
    if text.isascii() and text.find('"', start) < 0 and text.find("'", start) < 0:
        try:
            return [*chain.from_iterable(map(_chunks().__getitem__, text[start:].split()))]
        except _Spans:
            pass
    found: list[str] = _SPACED_TOKEN.findall(text.rstrip(), start)
    return found


def tokens_of_chunk(chunk: str) -> tuple[str, ...] | None:
    """The tokens of a piece of ASCII text without quotation marks and white space; None where the last may go on."""
    try:
        return _chunks()[chunk]
    except _Spans:
        return None


class _Spans(Exception):
    """A token that begins in this chunk may go on behind the white space."""


class _Chunks(dict[str, tuple[str, ...]]):
    """The tokens of pieces of ASCII text without quotation marks and white space; bounded."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        tokens = (chunk,) if PLAIN_IRI.fullmatch(chunk) else tuple(TOKEN.findall(chunk))
        if chunk[-1] in "([" or any(token[0] == "#" for token in tokens):
            raise _Spans
        if len(self) >= CHUNKS_KEPT:
            self.clear()
        self[chunk] = tokens
        return tokens


@cache
def _chunks() -> _Chunks:
    """The process's; threads may share it, since every step on it is one dictionary operation."""
    return _Chunks()


def open_source(text: str, name: str | None) -> Source:
    """Resolves ``\\u`` and ``\\U`` escapes, which are allowed anywhere in a query (section 19.2).

    A backslash that is itself escaped begins none. Raises `QueryRefused` over the size limit and `QuerySyntaxError` for
    an escape that names no character.
    """
    if len(text) > MAX_CHARACTERS:
        raise refuse_size(f"a query of {len(text)} characters", f"the limit is {MAX_CHARACTERS}", name)
    if "\\u" not in text and "\\U" not in text:
        return Source(text, text, name)
    plain = Source(text, text, name)

    def character(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        if digits is None:
            return match[0]
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise plain.fault(match.start(), f"{match[0]} is no character", ("a code point that is no surrogate",))
        return chr(code)

    return Source(text, _CODEPOINT.sub(character, text), name)


def _written_offset(written: str, offset: int) -> int:
    shift = 0
    for match in _CODEPOINT.finditer(written):
        if match.start() - shift >= offset:
            break
        if match[1] or match[2]:
            shift += len(match[0]) - 1
    return offset + shift


def terminal(text: str) -> str:
    """The grammar's name for a token; empty for a comment and for what is no token of the language."""
    known = PUNCTUATION.get(text)
    if known is not None:
        return known
    first = text[0]
    if first in "?$":
        return "VAR" if len(text) > 1 else ""
    if first == "<":
        return "IRI" if text[-1] == ">" and len(text) > 1 else ""
    if first in "\"'":
        return _string_terminal(text)
    if first in "+-.0123456789":
        return "SIGNED" if first in "+-" else "INTEGER" if text.isdigit() else "NUMBER"
    if first == "#" or (len(text) == 1 and not first.isalpha() and first != ":"):
        return ""
    if first in "([":
        return "NIL" if first == "(" else "ANON"
    if text.startswith("_:"):
        return "BLANK"
    if ":" in text:
        return "IRI"
    word = text.upper()
    return "FUNCTION" if word in FUNCTIONS else KEYWORDS.get(word, "")


def _string_terminal(text: str) -> str:
    parts = LITERAL_PARTS.fullmatch(text)
    if parts is None:
        return ""
    return "LITERAL" if parts[2] or parts[3] else "STRING"


def tokenise(source: Source) -> Iterator[Token]:
    """All tokens but comments, one by one, so that the first fault of a text is the one reported.

    Raises `QuerySyntaxError` for text that is no token, `QueryRefused` for refused words and over the limits.
    """
    return read_tokens(source, TOKEN, terminal, _check)


def read_tokens(
    source: Source,
    expression: re.Pattern[str],
    terminal: Callable[[str], str],
    check: Callable[[Source, int, str, str], None],
) -> Iterator[Token]:
    """The matches of a language's `expression` that have a terminal; `check` raises for a match (offset, text,
    terminal) that is an error.

    `start_pos` is the offset into `source.text`, `end_pos` the token's number among all matches, comments included.
    """
    depth = 0
    for number, match in enumerate(expression.finditer(source.text)):
        start, text = match.start(), match[0]
        kind = terminal(text)
        check(source, start, text, kind)
        if not kind:
            continue
        if kind in _OPENING:
            depth += 1
            if depth > MAX_NESTING:
                raise source.refusal(start, "nesting", f"brackets nested more than {MAX_NESTING} deep", "flatten it")
        elif kind in _CLOSING:
            depth -= 1
        if number > MAX_TOKENS:
            raise refuse_size(f"a query of more than {MAX_TOKENS} tokens", "that is the limit", source.name)
        yield Token(kind, text, start, None, None, None, None, number)


def number_of(token: Token) -> int:
    """Among all tokens of its text, as `tokenise` counts them."""
    return token.end_pos or 0


def _check(source: Source, offset: int, text: str, kind: str) -> None:
    if kind == "LITERAL" and "--" in text:
        parts = LITERAL_PARTS.fullmatch(text)
        if parts is not None and "--" in (parts[2] or ""):
            raise source.refusal(offset, f"@{parts[2]} (RDF 1.2)", *TRIPLE_TERM)
    if kind or text[0] == "#":
        return
    tag = find_wrong_tag(source.text, offset)
    if tag is not None:
        raise source.fault(*tag)
    refused = refuse_word(text)
    if refused is not None:
        raise source.refusal(offset, *refused)
    if text[0] in "\"'":
        raise open_string(source, offset)
    if text[0] == "<":
        raise source.fault(offset, f"unexpected {text}", ("an IRI in angle brackets, without spaces",))
    if text[0].isalpha():
        near = nearest_names(text.upper(), (*KEYWORDS, *FUNCTIONS), 1)
        meant = f"; was {near[0]} meant?" if near else ""
        wanted = ("a keyword, a variable like ?x or a name like dc:title",)
        raise source.fault(offset, f"unknown word {clip(text)}{meant}", wanted)
    if text in _TYPOGRAPHIC:
        raise source.fault(offset, f"{text} is no quotation mark of SPARQL; write \" or '")
    raise source.fault(offset, f"unexpected {text}" if text.isprintable() else f"unexpected character {text!r}")


def find_wrong_tag(text: str, offset: int) -> tuple[int, str] | None:
    """Where the unexpected character at `offset` lies in a language tag: the tag's offset, and the fix."""
    for found in _TAGGED.finditer(text, max(0, offset - 200), offset + 200):
        if found.start(1) <= offset < found.end():
            return found.start(1), f"{clip(found[1])} is no language tag; {TAG_HINT}"
    return None


def open_string(source: Source, offset: int) -> QuerySyntaxError:
    wanted = ("a closing quotation mark, on the same line unless tripled",)
    return source.fault(offset, "this string does not end", wanted)


def clip(text: str) -> str:
    """A token short enough for a message."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def unescape_string(token: str, loose: bool = False) -> str:
    """The value of a string token with its quotation marks. Raises ValueError for an unknown escape; where they are
    `loose`, it stands for its character."""
    width = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    body = token[width:-width]
    if "\\" not in body:
        return body

    def character(match: re.Match[str]) -> str:
        if loose or match[1] in _STRING_ESCAPES:
            return _STRING_ESCAPES.get(match[1], match[1])
        raise ValueError(f"unknown escape \\{match[1]} in a string; known are \\t \\b \\n \\r \\f \\\\ \\\" \\'")

    return _STRING_ESCAPE.sub(character, body)


_WORDS = {
    **{name: text for text, name in PUNCTUATION.items()},
    "VAR": "a variable like ?x", "IRI": "an IRI or a name like dc:title", "STRING": "a string", "NIL": "()",
    "LITERAL": "a literal", "INTEGER": "a whole number", "NUMBER": "a number", "SIGNED": "a number",
    "BOOLEAN": "true or false", "BLANK": "a blank node", "ANON": "a blank node", "FUNCTION": "a function",
    "FTCONTAINS": "a function", "SET_FUNCTION": "an aggregate", "COUNT": "an aggregate", "A": "a (rdf:type)",
    "GROUP_CONCAT": "an aggregate", "COMPARISON": "a comparison", "EQUAL": "=", "$END": "the end of the query",
}  # fmt: skip
"""The grammar's terminals in words, for the "expected: …" of syntax errors."""
_MANY = frozenset({"STRING", "LITERAL", "INTEGER", "NUMBER", "SIGNED", "BOOLEAN"})
_NO_WORDS: Mapping[str, str] = MappingProxyType({})


def describe(terminals: Iterable[str], own: Mapping[str, str] = _NO_WORDS) -> tuple[str, ...]:
    """Words for a set of terminals, sorted; the kinds of literal are one word where all are allowed. `own` are a
    language's that differ from SPARQL's."""
    names = set(terminals)
    words = []
    if names >= _MANY:
        names -= _MANY
        words.append("a literal")
    words.extend(own.get(name) or _WORDS.get(name, name.lstrip("_")) for name in names)
    return tuple(sorted(set(words)))
