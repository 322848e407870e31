"""Templates: query texts with their constants lifted out, each parsed once.

The fast path is one pass of the language's token expression over the text, one look-up a token and one for the whole:
the token texts, with constants replaced by their kinds, name an entry with the tokens that are constants and their
places in the algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.errors import QuerySyntaxError
from triplecast.languages import context, fulltext
from triplecast.languages.chunks import MARK, ChunkedTexts, ChunkTables, ConstantPlaces
from triplecast.languages.dialect import Dialect, Parsed
from triplecast.languages.operators import is_magic
from triplecast.languages.prefixes import Namespace
from triplecast.languages.refusals import MAX_CHARACTERS
from triplecast.languages.rewriting import replace_constants
from triplecast.languages.sparql import SPARQL
from triplecast.languages.tokens import PLAIN_IRI, open_source
from triplecast.model.algebra import Expression, Query, Slot, from_ntriples, to_ntriples
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.terms.values import EXACT_DIGITS, XSD, XSD_STRING, ValueClass, order_key


@dataclass(frozen=True, slots=True)
class SlotKind:
    """What all constants in one slot of a template have in common."""

    datatype: str | None
    """The datatype's IRI; None for an IRI or a language-tagged string."""
    value_class: ValueClass
    exact: bool
    """The constant's tie is 0: its number alone gives its place in its class."""


@dataclass(frozen=True, slots=True)
class Template:
    """A query with ``Slot(i)`` where constants were. Equal keys mean equal query and kinds, however the texts look."""

    key: str
    query: Query = field(compare=False)
    kinds: tuple[SlotKind, ...] = field(compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    """How forms of other languages were read, for the subscriber."""
    updates: tuple[Expression, ...] = field(default=(), compare=False)
    """Conditions of an update, without slots (`languages.updates`)."""

    @property
    def slots(self) -> int:
        return len(self.kinds)


def fill(query: Query, constants: tuple[str, ...]) -> Query:
    """The query with ``Slot(i)`` replaced by the term whose N-Triples form is ``constants[i]``."""

    def replace(constant: NamedNode | Literal | Slot) -> Any:
        return from_ntriples(constants[constant.index]) if isinstance(constant, Slot) else constant

    return replace_constants(query, replace)


def text_of(constant: str) -> str:
    """The text of a string in N-Triples form."""
    return from_ntriples(constant).value if "\\" in constant else constant[1:-1]


def slot_kind(constant: str) -> SlotKind:
    """The kind of a constant in N-Triples form."""
    value_class, _, tie = order_key(constant)
    datatype = None
    if constant[0] == '"' and value_class is not ValueClass.LANG:
        datatype = constant[constant.rindex("^^<") + 3 : -1] if constant[-1] == ">" else XSD_STRING
    return SlotKind(datatype, value_class, tie == 0)


def parse_whole(dialect: Dialect, text: str, name: str | None, operators: OperatorSet) -> Query:
    """Parse without any template."""
    parsed = dialect.parse(text, name, operators)

    def replace(constant: NamedNode | Literal | Slot) -> Any:
        return _term(parsed, constant.index) if isinstance(constant, Slot) else constant

    return replace_constants(parsed.query, replace)


def _term(parsed: Parsed, number: int) -> NamedNode | Literal:
    token = parsed.tokens[number]
    try:
        term = parsed.namespace.term(str(token))
    except ValueError as error:
        raise parsed.source.fault(token, str(error)) from error
    return _lower(term) if number in parsed.lowered else term


def _lower(term: NamedNode | Literal) -> NamedNode | Literal:
    plain = isinstance(term, Literal) and term.language is None and term.datatype.value == XSD_STRING
    return Literal(term.value.lower()) if plain else term


# ---- the fast path -----------------------------------------------------------------------------------------

_ENTRIES = 20_000
"""Bound of each table; a full one is emptied, which costs one parse a template."""
_WORDS = 100_000
_PROLOGUES = 1_000
_FIXED = frozenset({context.TYPE, context.NIL, context.FIRST, context.REST})


def _literal_piece(terminal: str, kind: SlotKind) -> str:
    return f"{MARK}{terminal}|{kind.datatype}|{kind.value_class:d}|{kind.exact:d}"


_IRI = MARK + "i"
_INTEGER = _literal_piece("INTEGER", SlotKind(XSD + "integer", ValueClass.EXACT, exact=True))
_DECIMAL = _literal_piece("NUMBER", SlotKind(XSD + "decimal", ValueClass.EXACT, exact=True))


def _is_decimal(token: str) -> bool:
    """Whether it is digits around a point, and nothing else."""
    whole, point, fraction = token.partition(".")
    return point == "." and fraction.isdigit() and (whole + fraction).isdigit() and token.isascii()


class _Terms(dict[str, str]):
    """The N-Triples form of each constant of the texts under one prologue."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__()
        self.namespace = namespace
        self._starts: dict[str, str] = {}
        """The namespaces behind which letters, digits and ``-`` make an IRI whatever they are."""
        if not namespace.notation.loose:
            self._starts = {name: start for name, start in namespace.prefixes.items() if start[-1:] in ("/", "#")}

    def plain(self, token: str) -> str:
        """The IRI of a name that nothing has to be read or checked in: ASCII letters, digits and ``-`` behind a prefix;
        empty for other tokens."""
        prefix, _, local = token.partition(":")
        start = self._starts.get(prefix)
        if start is None or not (local.isascii() and local.replace("-", "").isalnum()):
            return ""
        return start + local

    def keep(self, token: str, written: str) -> str:
        if len(self) > _WORDS:
            self.clear()
        self[token] = written
        return written

    def named(self, token: str) -> str:
        """The IRI of a name; empty for what is none."""
        try:
            return self.namespace.iri(token)
        except ValueError:
            return ""

    def __missing__(self, token: str) -> str:
        if token[0] == "<" and not self.namespace.notation.loose and PLAIN_IRI.fullmatch(token):
            return self.keep(token, token)
        if token.isdigit() and token.isascii():
            return self.keep(token, f'"{token}"^^<{XSD}integer>')
        if _is_decimal(token):
            return self.keep(token, f'"{token}"^^<{XSD}decimal>')
        return self.keep(token, to_ntriples(self.namespace.term(token)))


class _Pieces(dict[str, str]):
    """What each token under one prologue gives to the name of an entry: its text, or a constant's kind.

    No piece contains a space, so pieces joined by spaces name their tokens' number and kinds exactly.
    """

    def __init__(self, terms: _Terms, dialect: Dialect, operators: OperatorSet) -> None:
        super().__init__()
        self.terms = terms
        self.dialect = dialect
        self.operators = operators

    def __missing__(self, token: str) -> str:
        if len(self) > _WORDS:
            self.clear()
        if token[0] == "<" and token[-1] == ">" and self.terms.namespace.base is None:
            piece = f"{MARK}{token}" if is_magic(token[1:-1], self.operators) else _IRI
        elif iri := self.terms.plain(token):
            self.terms.keep(token, f"<{iri}>")
            piece = f"{MARK}<{iri}>" if is_magic(iri, self.operators) else _IRI
        elif token.isdigit() and token.isascii() and len(token) <= EXACT_DIGITS:
            piece = _INTEGER
        elif len(token) <= EXACT_DIGITS and _is_decimal(token):
            piece = _DECIMAL
        else:
            piece = self._piece(token)
        self[token] = piece
        return piece

    def _piece(self, token: str) -> str:
        own = self.dialect.piece(token, self.terms.namespace)
        if own is not None:
            return own
        match self.dialect.terminal(token):
            case "IRI":
                iri = self.terms.named(token)
                return f"{MARK}<{iri}>" if is_magic(iri, self.operators) else _IRI
            case "STRING":
                return MARK + "s"
            case "LITERAL" | "INTEGER" | "NUMBER" | "SIGNED" as kind:
                return _literal_piece(kind, slot_kind(self.terms[token]))
            case "NIL":
                return "()"
            case "ANON":
                return "[]"
            case "":
                return "" if token[0] == "#" else token
        return token


class _Reader(NamedTuple):
    """The tables of one prologue."""

    terms: _Terms
    pieces: _Pieces
    chunks: ChunkTables


class _Arrangement(NamedTuple):
    """A template and the places of its constants in the body's tokens followed by `fixed`."""

    template: Template
    places: ConstantPlaces
    lowered: tuple[int, ...]
    texts: tuple[tuple[int, str], ...]
    """Constants that are texts of full-text functions, with the function."""


class _Entry(NamedTuple):
    """All templates of one sequence of tokens; they differ in the constants that plans depend on."""

    pinned: tuple[int, ...]
    arrangements: dict[tuple[str, ...], _Arrangement]


class TemplateCache:
    """Texts of one language, which may call these operators, to templates. Every table is bounded; nothing that it
    returns depends on what it has seen before."""

    def __init__(self, dialect: Dialect = SPARQL, operators: OperatorSet = NO_OPERATORS) -> None:
        self._dialect = dialect
        self._operators = operators
        self._readers: dict[str, _Reader] = {}
        self._meanings: dict[tuple[str | None, tuple[tuple[str, str], ...]], _Reader] = {}
        """Readers by base and prefixes, so that prologues that differ in comments or layout share one."""
        self._entries: dict[str, _Entry] = {}
        self._templates: dict[str, Template] = {}
        self._chunked = ChunkedTexts[Template](_ENTRIES)

    def read(self, text: str, name: str | None = None) -> tuple[Template, tuple[str, ...]]:
        """Raises what the dialect's `parse` raises."""
        return self._chunked.read(text) or self._read_tokens(text, name)

    def _read_tokens(self, text: str, name: str | None) -> tuple[Template, tuple[str, ...]]:
        resolved = open_source(text, name).text if len(text) > MAX_CHARACTERS or "\\" in text else text
        declarations, tokens = self._dialect.cut(resolved)
        try:
            reader = self._readers.get(declarations) or self._open(declarations)
            shape = " ".join(map(reader.pieces.__getitem__, tokens))
            entry = self._entries.get(shape)
            if entry is not None:
                pinned = tuple([reader.terms[tokens[place]] for place in entry.pinned])
                found = entry.arrangements.get(pinned)
                if found is not None:
                    constants = _pick(found, tokens, reader.terms)
                    for constant, function in found.texts:
                        fulltext.check_text(function, text_of(constants[constant]))
                    if self._dialect.is_chunked and not found.lowered and not found.texts:
                        places, end = found.places, len(declarations)
                        self._chunked.teach(text, end, reader.chunks, entry.pinned, places, _choose, found.template)
                    return found.template, constants
        except (ValueError, QuerySyntaxError):
            parse_whole(self._dialect, text, name, self._operators)
            raise
        return self._learn(text, name, shape, self._dialect.skipped(declarations))

    def _open(self, declarations: str) -> _Reader:
        namespace = self._dialect.namespace(declarations)
        meaning = (namespace.base, tuple(namespace.prefixes.items()))
        if len(self._readers) >= _PROLOGUES:
            self._readers.clear()
        if len(self._meanings) >= _PROLOGUES // 10:
            self._meanings.clear()
        reader = self._meanings.get(meaning)
        if reader is None:
            terms = _Terms(namespace)
            pieces = _Pieces(terms, self._dialect, self._operators)
            reader = self._meanings[meaning] = _Reader(terms, pieces, ChunkTables(pieces, terms))
        self._readers[declarations] = reader
        return reader

    def _learn(self, text: str, name: str | None, shape: str, skipped: int) -> tuple[Template, tuple[str, ...]]:
        parsed = self._dialect.parse(text, name, self._operators)
        count = shape.count(" ") + 1
        constants: list[str] = []
        places: list[int] = []
        fixed: list[str] = []
        lowered: list[int] = []
        texts: list[tuple[int, str]] = []

        def lift(constant: NamedNode | Literal | Slot) -> Any:
            if isinstance(constant, Slot):
                places.append(constant.index - skipped)
                term = _term(parsed, constant.index)
                if constant.index in parsed.lowered:
                    lowered.append(len(constants))
                if constant.index in parsed.texts:
                    texts.append((len(constants), parsed.texts[constant.index]))
            elif constant in _FIXED or (isinstance(constant, Literal) and constant.datatype == context.BOOLEAN):
                places.append(count + len(fixed))
                fixed.append(to_ntriples(constant))
                term = constant
            else:
                return constant
            constants.append(to_ntriples(term))
            return Slot(len(constants) - 1)

        query = replace_constants(parsed.query, lift)
        template = self._intern(query, tuple([slot_kind(constant) for constant in constants]), parsed)
        pinned = tuple(sorted(number - skipped for number in parsed.pinned))
        if len(self._entries) >= _ENTRIES:
            self._entries.clear()
        entry = self._entries.setdefault(shape, _Entry(pinned, {}))
        if len(entry.arrangements) >= _ENTRIES:
            entry.arrangements.clear()
        terms = tuple([to_ntriples(parsed.namespace.term(str(parsed.tokens[number + skipped]))) for number in pinned])
        entry.arrangements[terms] = _Arrangement(
            template, ConstantPlaces(places, _choose(places), fixed), tuple(lowered), tuple(texts)
        )
        return template, tuple(constants)

    def _intern(self, query: Query, kinds: tuple[SlotKind, ...], parsed: Parsed) -> Template:
        notes, updates = parsed.notes, parsed.updates
        written = f"{query!r}\n{kinds!r}\n{notes!r}" + (f"\n{updates!r}" if updates else "")
        key = blake2b(written.encode(), digest_size=16).hexdigest()
        if len(self._templates) >= _ENTRIES:
            self._templates.clear()
        return self._templates.setdefault(key, Template(key, query, kinds, notes, updates))


def _choose(places: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda tokens: tuple([tokens[place] for place in places])


def _pick(found: _Arrangement, tokens: list[str], terms: _Terms) -> tuple[str, ...]:
    places = found.places
    constants = tuple(map(terms.__getitem__, places.choice(tokens + places.fixed)))
    if found.lowered:
        terms_lowered = ((place, from_ntriples(constants[place])) for place in found.lowered)
        lowered = {place: to_ntriples(_lower(term)) for place, term in terms_lowered}  # type: ignore[arg-type]
        return tuple([lowered.get(place, constant) for place, constant in enumerate(constants)])
    return constants


@lru_cache(maxsize=16)
def shared_cache(dialect: Dialect, operators: OperatorSet) -> TemplateCache:
    """Return the process's cache of a language and a set of operators. Threads may share it, since every step on a
    table is one dictionary operation."""
    return TemplateCache(dialect, operators)
