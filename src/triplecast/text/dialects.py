"""Translate the full-text queries of other stores to selections.

``virtuoso``: ``bif:contains``. ``lucene``: the classic syntax of Jena's ``text:query`` and Stardog's ``textMatch``,
where terms without an operator are alternatives. ``blazegraph``: ``bds:search``. Each returns the text of a selection
or raises `TextFault`; what ranks, scores, guesses or names fields is refused, because answers have no rank here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from triplecast.text.grammar import check_depth, check_length
from triplecast.text.query import TextFault, TextRefused
from triplecast.text.words import words_of

_VIRTUOSO = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|([()])|([^\s()\"']+))")
_LUCENE = re.compile(r"\s*(?:\"((?:[^\"\\]|\\.)*)\"|([()])|(\+|-|!|&&|\|\|)|((?:[^\s()\"+!&|\\]|\\.|[+!&|](?=\S))+))")
_ESCAPED = re.compile(r"\\.|.", re.DOTALL)
_LUCENE_WORDS = {"&&": "AND", "||": "OR", "!": "NOT"}
_RANKED = "answers have no rank and no similarity here"
_LUCENE_REFUSED = (
    (":", "a field of a Lucene query", "name the property in a triple pattern"),
    ("~", "~ (fuzziness and slop) of a Lucene query", "use ft:contains with distance or wildcards"),
    ("^", "^ (a boost) of a Lucene query", "use ft:score"),
    ("[", "a range of a Lucene query", "compare values in a FILTER"),
    ("{", "a range of a Lucene query", "compare values in a FILTER"),
    ("/", "a regular expression of a Lucene query", "use REGEX, or ft:contains using wildcards"),
)
"""Signs inside a term: what they mean, and what to write instead."""


def quote(text: str, wild: bool = False) -> str:
    return '"' + text.replace('"', '""') + '"' + (" using wildcards" if wild else "")


def _term(signs: Sequence[str], place: int, wildcards: str = "") -> str:
    """Write one word or phrase. `signs` are its characters, an escaped one with its backslash; unescaped ones among
    `wildcards` are wildcards."""
    if any(sign in wildcards for sign in signs):
        return quote(" ".join(_patterns(signs, wildcards)), wild=True)
    text = "".join(sign[-1] for sign in signs)
    if not words_of(text):
        raise TextFault(place, f"{text} has no word", ("a word with a letter or a number",))
    return quote(text)


def _patterns(signs: Sequence[str], wildcards: str) -> Iterator[str]:
    """Yield the words of a phrase as patterns of a selection, without punctuation around them."""
    meant = {sign: {"*": ".*", "?": "."}[sign] for sign in wildcards}
    word: list[str] = []
    for sign in (*signs, " "):
        if not sign.isspace():
            word.append(sign)
            continue
        kept = [at for at, each in enumerate(word) if each in meant or each[-1].isalnum()]
        if kept:
            inner = word[kept[0] : kept[-1] + 1]
            yield "".join(
                meant.get(each) or (f"\\{each[-1]}" if each[-1] in ".\\{}*+?" else each[-1]) for each in inner
            )
        word = []


class _Piece(NamedTuple):
    kind: str
    text: str
    place: int


def _pieces(form: re.Pattern[str], kinds: Sequence[str], text: str) -> Iterator[_Piece]:
    """Yield the successive matches in a text, each of the kind that its group has. Raises `TextRefused` for a long text
    and for a quotation mark without its pair."""
    check_length(text)
    at = 0
    for match in (*form.finditer(text), None):
        passed = text[at : match.start() if match else len(text)]
        for place, sign in enumerate(passed, at):
            if sign in "\"'":
                raise TextRefused(
                    place, f"a search with an open {sign}", "its phrase does not end", f"add a closing {sign}"
                )
        if match and match.lastindex:
            at = match.end()
            kind = kinds[match.lastindex - 1]
            yield _Piece(kind, match[match.lastindex], match.start(match.lastindex) - (kind == "phrase"))


def virtuoso(text: str) -> str:
    """Translate words and phrases with ``AND``, ``OR``, ``NOT`` and brackets; ``*`` in a word is a wildcard."""
    written: list[str] = []
    expects_term = True
    for piece in _pieces(_VIRTUOSO, ("phrase", "phrase", "sign", "word"), text):
        word = piece.text.upper() if piece.kind == "word" else ""
        if word == "NEAR":
            hint = "use ft:contains with distance at most n words"
            raise TextRefused(piece.place, "NEAR of bif:contains", _RANKED, hint)
        if word in ("AND", "OR", "NOT"):
            written.append(f"ft{word.lower()}")
            expects_term = True
        elif piece.kind == "sign" and piece.text == ")":
            written.append(")")
            expects_term = False
        else:
            if not expects_term:
                raise TextFault(piece.place, "two words without AND or OR between them", ("AND", "OR"))
            written.append("(" if piece.kind == "sign" else _term(piece.text, piece.place, "*"))
            expects_term = piece.kind == "sign"
    return " ".join(written)


class _Clause(NamedTuple):
    occurs: str
    """``must``, ``should`` or ``not``."""
    text: str


def lucene(text: str) -> str:
    """Translate words and phrases with ``+``, ``-``, ``AND``, ``OR``, ``NOT`` and brackets; ``*`` and ``?`` in a word
    are wildcards. ``AND`` makes both sides required; where a clause is required, those that are not are ignored."""
    pieces = []
    for piece in _pieces(_LUCENE, ("phrase", "sign", "operator", "word"), text):
        if piece.kind == "operator":
            piece = piece._replace(text=_LUCENE_WORDS.get(piece.text, piece.text))
        elif piece.text in ("AND", "OR", "NOT") and piece.kind == "word":
            piece = piece._replace(kind="operator")
        elif piece.kind == "word":
            _refuse_lucene(piece.text, piece.place)
        pieces.append(piece)
    at, written = _lucene_clauses(pieces, 0, 0)
    if at < len(pieces):
        raise TextFault(pieces[at].place, "unexpected ) in the Lucene query", ())
    return written


def _refuse_lucene(word: str, place: int) -> None:
    word = re.sub(r"\\.", "", word)
    for sign, construct, hint in _LUCENE_REFUSED:
        if sign in word:
            raise TextRefused(place, construct, _RANKED if sign in "~^" else "ft:contains has no equivalent", hint)


def _lucene_clauses(pieces: list[_Piece], at: int, depth: int) -> tuple[int, str]:
    """Translate the clauses up to a closing bracket; return where they end and the selection."""
    check_depth(depth, pieces[at - 1].place if at else 0)
    clauses: list[_Clause] = []
    start = pieces[at].place if at < len(pieces) else 0
    occurs, joined = "should", False
    while at < len(pieces) and not (pieces[at].kind == "sign" and pieces[at].text == ")"):
        piece = pieces[at]
        at += 1
        if piece.kind == "operator":
            if piece.text == "AND" and clauses:
                joined = True
                if clauses[-1].occurs == "should":
                    clauses[-1] = clauses[-1]._replace(occurs="must")
            elif piece.text in ("NOT", "-"):
                occurs = "not"
            elif piece.text == "+":
                occurs = "must"
            continue
        if piece.kind == "sign":
            at, inner = _lucene_clauses(pieces, at, depth + 1)
            if at >= len(pieces):
                raise TextFault(piece.place, "this bracket does not close", (")",))
            at += 1
            written = f"({inner})"
        else:
            wildcards = "*?" if piece.kind == "word" else ""
            written = _term(_ESCAPED.findall(piece.text), piece.place, wildcards)
        clauses.append(_Clause("must" if joined and occurs == "should" else occurs, written))
        occurs, joined = "should", False
    return at, _lucene_text(clauses, start)


def _lucene_text(clauses: list[_Clause], place: int) -> str:
    must = [clause.text for clause in clauses if clause.occurs == "must"]
    should = [clause.text for clause in clauses if clause.occurs == "should"]
    never = [f"ftnot {clause.text}" for clause in clauses if clause.occurs == "not"]
    if not must and not should:
        raise TextFault(place, "no word is required", ("a word",))
    if must:
        return " ftand ".join(must + never)
    either = should[0] if len(should) == 1 else " ftor ".join(should)
    return " ftand ".join([f"({either})" if never and len(should) > 1 else either, *never])


def blazegraph(text: str, every: bool, exact: bool) -> str:
    """Translate words with ``*`` at their ends: any of them, `every` one, or `exact` as a phrase."""
    check_length(text)
    if exact:
        return _term(text, 0)
    terms = [_term(match[0], match.start(), "*") for match in re.finditer(r"\S+", text)]
    if not terms:
        raise TextFault(0, "there is no word to search for", ("a word",))
    return (" ftand " if every else " ftor ").join(terms)
