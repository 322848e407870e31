"""Read RDF Patch text, strictly: what is not understood is an error that says where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from pyoxigraph import RdfFormat, parse

from triplecast.errors import DocumentRejected
from triplecast.ingest.gate import GATE
from triplecast.ingest.rdf import write_lines
from triplecast.ingest.syntax_faults import unreadable
from triplecast.model.algebra import from_ntriples
from triplecast.patch.patch import Patch, PatchRow

CODES = ("A", "D", "H", "PA", "PD", "TA", "TC", "TX")
LONGEST_HEADER = 1_000
"""Rows of one header."""
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)\s+(\S.*?)\s*\.", re.DOTALL)
_NAME, _IRI = r"(?:\"[^\"\\]*\"|'[^'\\]*'|[A-Za-z][\w.-]*:?|:)", r"\s+<[^<>\"{}|^`\\\s]*>"
_PREFIXES = {"PA": re.compile(rf"{_NAME}(?:{_IRI}){{1,2}}\s*\."), "PD": re.compile(rf"{_NAME}(?:{_IRI})?\s*\.")}
"""Both may name a graph."""
_BLANK_IRI = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<_:([^<> ]*)>', re.DOTALL)
"""``<_:label>`` is a blank node too; literals are passed over."""


def read_patches(data: bytes) -> Iterator[Patch]:
    """Yield the transactions of a text in order; what ends with ``TA`` is left out, prefixes are checked and ignored.

    Header rows come before the first transaction that they are of. Raises `DocumentRejected` with the line, where
    reading comes there: what was yielded before is sound.
    """
    return _PatchReader().read(data)


class _PatchReader:
    """The state of reading one text: between patches, in a header, or in a transaction."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Begin between two patches."""
        self._header: dict[str, str] = {}
        self._first = 0
        """The line at which the patch begins."""
        self._begun: int | None = None
        """The line of the ``TX`` of an open transaction."""
        self._signs: list[bool] = []
        self._statements: list[bytes] = []
        self._places: list[int] = []

    def read(self, data: bytes) -> Iterator[Patch]:
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            text = line.strip(b" \t\r")
            if not text or text.startswith(b"#"):
                continue
            if number == len(lines):
                _refuse("the last line does not end", "the text was cut: send it wholly", number)
            if b"\r" in text:
                _refuse("a carriage return is inside a row", "end rows with a line feed, write \\r in literals", number)
            code, _, rest = text.decode("utf-8", "replace").partition(" ")
            rest = rest.strip()
            if "\ufffd" in rest:
                _check_utf8(text, number)
            if code not in CODES:
                _refuse(f"{code[:40]!r} is no row of RDF Patch", f"begin it with one of {', '.join(CODES)}", number)
            self._first = self._first or number
            if code in ("A", "D"):
                self._add_row(code == "A", text[1:].strip(), number)
            elif code == "H":
                self._add_header(rest, number)
            elif code in ("PA", "PD"):
                if not _PREFIXES[code].fullmatch(rest):
                    form = '"ex" <https://…/> .' if code == "PA" else '"ex" .'
                    _refuse(f"{code} has no prefix, or not its IRI", f"write {code} {form}", number)
            elif rest != ".":
                _refuse(f"{code} is to be followed by a full stop alone", f"write {code} .", number)
            elif code == "TX":
                self._begin(number)
            else:
                patch = self._end(code, number)
                if patch is not None:
                    yield patch
        if self._begun is not None:
            _refuse(f"the transaction of line {self._begun} does not end", "end it with TC .", len(lines))
        if self._header:
            _refuse(f"the header of line {self._first} has no transaction", "go on with TX .", len(lines))

    def _add_row(self, is_added: bool, statement: bytes, number: int) -> None:
        if self._begun is None:
            _refuse("a row is outside of a transaction", "begin one with TX .", number)
        if b"<_:" in statement:
            statement = _BLANK_IRI.sub(lambda found: found[0] if found[1] is None else b"_:" + found[1], statement)
        self._signs.append(is_added)
        self._statements.append(statement)
        self._places.append(number)

    def _add_header(self, rest: str, number: int) -> None:
        if self._begun is not None:
            _refuse("a header is inside a transaction", "put it before TX", number)
        found = _HEADER.fullmatch(rest)
        if found is None:
            _refuse("a header is to have a name and a term", 'write H name "value" .', number)
        name, term = found.groups()
        if name in self._header:
            _refuse(f"the header has {name!r} twice", "leave one of them out", number)
        if len(self._header) == LONGEST_HEADER:
            _refuse(f"the header has more than {LONGEST_HEADER} rows", "send fewer", number)
        try:
            self._header[name] = str(from_ntriples(term))
        except ValueError as error:
            _refuse(f"the header {name!r} has no RDF term: {error}", "write an IRI, a literal or a blank node", number)

    def _begin(self, number: int) -> None:
        if self._begun is not None:
            _refuse(f"TX is inside the transaction of line {self._begun}", "end that one with TC .", number)
        self._begun = number

    def _end(self, code: str, number: int) -> Patch | None:
        if self._begun is None:
            _refuse(f"{code} ends no transaction", "begin one with TX .", number)
        rows = tuple(map(PatchRow, self._signs, self._quads()))
        patch = Patch(self._header, rows, self._first) if code == "TC" else None
        self._forget()
        return patch

    def _quads(self) -> list[bytes]:
        """The rows as canonical lines."""
        data = b"\n".join(self._statements)
        try:
            quads = list(parse(data, format=RdfFormat.N_QUADS))
            if len(quads) != len(self._statements):
                self._find_wrong()
            return write_lines(quads, len(data), GATE, dataset=True)
        except SyntaxError as error:
            row = min(max((error.lineno or 1) - 1, 0), len(self._places) - 1)
            fault = unreadable(error, RdfFormat.N_QUADS, data)
            found = fault.reason.removeprefix("not N-Quads: ")
            raise _rejected(f"the row is no quad: {found}", "write it as N-Quads has it", self._places[row]) from None
        except DocumentRejected as error:
            error.line = error.line or self._places[0]
            raise

    def _find_wrong(self) -> NoReturn:
        """Raise for the first row that is not one statement."""
        for statement, number in zip(self._statements, self._places, strict=True):
            if len(list(parse(statement, format=RdfFormat.N_QUADS))) != 1:
                _refuse("the row is not one quad", "write a row for each", number)
        raise AssertionError("each row is one quad")


def _check_utf8(text: bytes, number: int) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        _refuse(f"it is no UTF-8 ({error.reason})", "write it as UTF-8", number)


def _refuse(reason: str, hint: str, line: int) -> NoReturn:
    raise _rejected(reason, hint, line)


def _rejected(reason: str, hint: str, line: int) -> DocumentRejected:
    return DocumentRejected("patch", reason, hint, line)
