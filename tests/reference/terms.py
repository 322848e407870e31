"""RDF terms as plain tuples, and an N-Triples reader and canonical writer of their own.

``("iri", text)``, ``("blank", label)``, ``("literal", lexical, datatype, language)``: the language of an untagged one
is empty, a tag is lower case (semantics 3.1). Two terms are the same iff their tuples are equal.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Term: TypeAlias = tuple[str, ...]
Triple: TypeAlias = tuple[Term, Term, Term]

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LANG_STRING = RDF + "langString"
STRING = XSD + "string"


def iri(text: str) -> Term:
    return ("iri", text)


def blank(label: str) -> Term:
    return ("blank", label)


def literal(lexical: str, datatype: str = STRING, language: str = "") -> Term:
    if language:
        return ("literal", lexical, LANG_STRING, language.lower())
    return ("literal", lexical, datatype, "")


_IRI = r"<([^\x00-\x20<>\"{}|^`]*)>"
_BLANK = r"_:([A-Za-z0-9_][^\s.]*(?:\.[^\s.]+)*)"
_LITERAL = rf'"((?:[^"\\\n\r]|\\.)*)"(?:\^\^{_IRI}|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?'
_TERM = re.compile(rf"[ \t]*(?:{_IRI}|{_BLANK}|{_LITERAL})")
_END = re.compile(r"[ \t]*\.[ \t]*(?:#.*)?$")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_NAMED_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_WRITTEN |= {chr(c): f"\\u{c:04X}" for c in [*range(0x20), 0x7F, 0xFFFE, 0xFFFF] if chr(c) not in _WRITTEN}
_MUST_ESCAPE = re.compile("[" + "".join(re.escape(c) for c in _WRITTEN) + "]")


def unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        short, long, named = match.groups()
        if named is None:
            return chr(int(short or long, 16))
        if named not in _NAMED_ESCAPES:
            raise ValueError(f"unknown escape \\{named} in {text!r}")
        return _NAMED_ESCAPES[named]

    return _ESCAPE.sub(character, text) if "\\" in text else text


def read_term(text: str, start: int = 0) -> tuple[Term, int]:
    """The term at `start` and where it ends. Raises ValueError."""
    match = _TERM.match(text, start)
    if match is None:
        raise ValueError(f"expected a term at character {start + 1} of {text!r}")
    name, label, lexical, datatype, language = match.groups()
    if name is not None:
        return iri(unescape(name)), match.end()
    if label is not None:
        return blank(label), match.end()
    return literal(unescape(lexical), unescape(datatype) if datatype else STRING, language or ""), match.end()


def term(text: str) -> Term:
    """The one term that `text` holds."""
    found, end = read_term(text)
    if text[end:].strip():
        raise ValueError(f"text after the term: {text!r}")
    return found


def read_ntriples(text: str) -> tuple[Triple, ...]:
    """The triples of an N-Triples document, each once, in order of first appearance."""
    triples: dict[Triple, None] = {}
    for line in text.split("\n"):
        bare = line.strip(" \t\r")
        if not bare or bare.startswith("#"):
            continue
        subject, at = read_term(bare)
        predicate, at = read_term(bare, at)
        value, at = read_term(bare, at)
        if not _END.match(bare, at):
            raise ValueError(f"expected a full stop at character {at + 1} of {bare!r}")
        triples[subject, predicate, value] = None
    return tuple(triples)


def write(value: Term) -> str:
    """The canonical N-Triples form of a term: escapes only where they are required."""
    if value[0] == "iri":
        return f"<{value[1]}>"
    if value[0] == "blank":
        return f"_:{value[1]}"
    _, lexical, datatype, language = value
    quoted = '"' + _MUST_ESCAPE.sub(lambda found: _WRITTEN[found[0]], lexical) + '"'
    if language:
        return f"{quoted}@{language}"
    return quoted if datatype == STRING else f"{quoted}^^<{datatype}>"


Quads: TypeAlias = tuple[tuple[Term | None, tuple[Triple, ...]], ...]
"""Triples by graph name, None for the default graph."""


def write_quads(graphs: Quads) -> bytes:
    """Canonical N-Quads: sorted bytewise, unique, each line ended by a newline; N-Triples for a lone default graph."""
    lines = {
        f"{write(s)} {write(p)} {write(o)} {'' if name is None else write(name) + ' '}.\n".encode()
        for name, triples in graphs
        for s, p, o in triples
    }
    return b"".join(sorted(lines))
