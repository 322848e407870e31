"""The keyword form: words to look for, as the SPARQL query that finds them.

``"olympic games" near 3 in dc:title class rss:item`` is a query like any other once it is made; only that is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from triplecast.errors import InputError
from triplecast.languages.prefixes import Namespace
from triplecast.languages.tokens import IRI_REFERENCE, NAME
from triplecast.languages.vocabularies import DECLARED
from triplecast.text import TextFault, parse_selection, words_of
from triplecast.text.dialects import quote
from triplecast.text.grammar import MOST_WORDS

_TERM = re.compile(r'(-?)(?:"([^"]*)"|([^\s"]+))')
_OTHER = re.compile(r'(?<!\S)(?:AND|OR|NOT|&&|\|\|)(?!\S)|[()“”„"]')
"""What is meant as more than a word, outside phrases."""
_NAMED = re.compile(rf"{IRI_REFERENCE}|{NAME}")
FIELDS = ("words", "near", "in", "class")
"""The members of the form in JSON."""
_INSTEAD = (
    'all words are to occur, "night train" is a phrase and -word is not to occur; for the rest write a query, with '
    'such as ft:contains(?text, \'"rail" ftor "tram"\')'
)
_HINT = 'give words to look for, such as "olympic games", -winter or rail*'


class Keywords(NamedTuple):
    """What somebody looks for."""

    words: str
    """All of them are to occur in one text: a word, several in double quotes one behind the other, ``rail*`` any word
    that begins so; with a hyphen before it, what is not to occur there."""
    near: int | None = None
    """Most words between two that are found."""
    properties: tuple[str, ...] = ()
    """Of which the text is to be a value; none: any."""
    of_class: str | None = None
    """Of which the subject is to be an instance."""


def keywords_query(wanted: Keywords) -> str:
    """Return the SPARQL query. Raises `InputError` for what makes none."""
    selection = _selection(wanted)
    properties = [_name(each, "property") for each in wanted.properties]
    lines = ["SELECT ?item ?text WHERE {"]
    if wanted.of_class is not None:
        lines.append(f"  ?item a {_name(wanted.of_class, 'class')} .")
    lines.append(f"  ?item {'|'.join(properties) or '?property'} ?text")
    lines += [f"  FILTER(ft:contains(?text, {_quoted(selection)}))", "}"]
    return "\n".join(lines)


def read_keywords(fields: Mapping[str, object]) -> Keywords:
    """Return the form in JSON, with the members of `FIELDS` that are there. Raises `InputError`."""
    words, near, within, of_class = (fields.get(name) for name in FIELDS)
    if not isinstance(words, str):
        raise InputError("'words' is no string", _HINT)
    if near is not None and (isinstance(near, bool) or not isinstance(near, int)):
        raise InputError("'near' is no whole number", "give the most words between two of them, such as 3")
    named = [within] if isinstance(within, str) else within if within is not None else []
    if not isinstance(named, list | tuple) or not all(isinstance(each, str) for each in named):
        raise InputError("'in' is no list of strings", 'write ["dc:title"]')
    if of_class is not None and not isinstance(of_class, str):
        raise InputError("'class' is no string", 'write "rss:item"')
    return Keywords(words, near, tuple(named), of_class)


def with_query(fields: Mapping[str, object]) -> dict[str, object]:
    """Return a subscription's JSON with the query that its keyword form makes. Raises `InputError`."""
    if "text" in fields or fields.get("language", "sparql") != "sparql":
        raise InputError("'words' stand beside another query", "leave out 'text' and 'language': the words make it")
    text = keywords_query(read_keywords(fields))
    return {name: value for name, value in fields.items() if name not in FIELDS} | {"text": text}


def _selection(wanted: Keywords) -> str:
    """The full-text selection (docs/language.md)."""
    if (other := _OTHER.search(_TERM.sub(lambda term: term[3] or "", wanted.words))) is not None:
        raise InputError(f"{other[0]} is not read in {wanted.words[:200]!r}", _INSTEAD)
    found: list[str] = []
    unwanted: list[str] = []
    for minus, phrase, word in _TERM.findall(wanted.words):
        text = phrase or word
        if not words_of(text.replace("*", "")):
            continue
        written = _written(text)
        (unwanted if minus else found).append(written)
    if not found:
        raise InputError(f"there is no word to look for in {wanted.words[:200]!r}", _HINT)
    if len(found) + len(unwanted) > MOST_WORDS:
        raise InputError(f"there are more than {MOST_WORDS} words", "give fewer")
    selection = " ftand ".join(found)
    if wanted.near is not None and len(found) > 1:
        if not 0 <= wanted.near < 1_000_000:
            raise InputError(f"words cannot be near by {wanted.near}", "give a number from 0")
        selection = f"({selection}) distance at most {wanted.near} words"
        selection = f"({selection})" if unwanted else selection
    selection = " ftand ".join([selection, *(f"ftnot {each}" for each in unwanted)])
    try:
        parse_selection(selection)
    except TextFault as fault:
        raise InputError(f"the words {wanted.words[:200]!r} make no selection: {fault.message}", _HINT) from fault
    return selection


def _written(text: str) -> str:
    """A word or a phrase of a selection; of the signs of its patterns the asterisk alone is one here."""
    if "*" not in text:
        return quote(text)
    return quote(re.sub(r"[.?\\{}]", "", text).replace("*", ".*"), wild=True)


def _name(text: str, what: str) -> str:
    """The text, which names an IRI. Raises `InputError`."""
    try:
        if _NAMED.fullmatch(text):
            Namespace(DECLARED, None).named(text)
            return text
        found = "it is neither <iri> nor a name like dc:title"
    except ValueError as error:
        found = str(error)
    raise InputError(f"no {what} is {text[:200]!r}: {found}", "write dc:title or <https://…>")


def _quoted(text: str) -> str:
    """As a string of SPARQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ").replace("\r", " ")
    return f"'{escaped}'"
