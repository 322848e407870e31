"""Parse the text of a full-text selection: the answered part of XQuery and XPath Full Text 1.0, appendix A.

::

    selection = and ("ftor" and)* filter*
    and       = not ("ftand" not)*
    not       = "ftnot"? near
    near      = primary ("ftnear" "[" least "," most? "]" primary)*
    primary   = (string choice? | "(" selection ")") ("using" option)*
    choice    = "any" "word" | "all" "words" | "any" | "all" | "phrase"
    option    = `_OPTION_WORDS`
    filter    = "ordered" | "window" n "words" | "distance" range "words"
    range     = "exactly" n | "at" "least" n | "at" "most" n | "from" n "to" n

Keywords may have any letter case. ``ftnear``, from the RTF paper, joins single words or phrases.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from triplecast.text.query import (
    And,
    Distance,
    Near,
    Not,
    Options,
    Or,
    Ordered,
    Phrase,
    Selection,
    TextFault,
    TextRefused,
    Window,
    phrases_in,
)
from triplecast.text.wildcards import split_patterns
from triplecast.text.words import words_of

LONGEST = 10_000
"""Most characters of a selection."""
DEEPEST = 50
"""Most brackets open at once."""
MOST_WORDS = 200
"""Most words of a selection, and of the terms of a score."""
MOST_FILTERS = 50
"""Most distances, windows and ``ordered`` of a selection, which nest."""
_TOKEN = re.compile(r"\s*(?:(\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*')|([A-Za-z]+)|([0-9]+)|(\S)|$)")
_REFUSED = {
    "occurs": ("occurrences are not counted", "name only the words"),
    "same": ("sentences and paragraphs are not recognised", "use window n words"),
    "different": ("sentences and paragraphs are not recognised", "use distance n words"),
    "weight": ("matching has no weights", "use ft:score"),
    "not": ("the mild not is not supported", "use ftnot"),
    "at": ("anchors in the text are not supported", "leave 'at start' or 'at end' out"),
    "entire": ("anchors in the text are not supported", "leave 'entire content' out"),
    "without": ("a literal has no content to ignore", "leave it out"),
}
_REFUSED_OPTIONS = {
    "thesaurus": ("there is no thesaurus", "write the synonyms with ftor"),
    "stop": ("there are no stop words", "leave it out: every word counts"),
    "language": ("the language is the literal's own tag", "filter it with LANGMATCHES"),
    "option": ("there are no extension options", "leave it out"),
}
_OPTION_WORDS: dict[str, tuple[tuple[tuple[str, ...], object], ...]] = {
    "case": (
        (("case", "insensitive"), "insensitive"),
        (("case", "sensitive"), "sensitive"),
        (("lowercase",), "lowercase"),
        (("uppercase",), "uppercase"),
    ),
    "marks": ((("diacritics", "insensitive"), False), (("diacritics", "sensitive"), True)),
    "stemming": ((("stemming",), True), (("no", "stemming"), False)),
    "wildcards": ((("wildcards",), True), (("no", "wildcards"), False)),
}
"""By field of `Options`: the words after ``using``, and their value."""
_FILTERS = ("ordered", "window", "distance")
_Bounds: TypeAlias = tuple[int | None, int | None]


class _Token(NamedTuple):
    kind: str
    """``string``, ``word``, ``number``, ``sign`` or ``end``."""
    text: str
    """Words in lower case."""
    place: int


class _Leaf(NamedTuple):
    """A string whose options are not complete yet."""

    text: str
    place: int
    choice: str
    """``phrase``, ``any word`` or ``all words``."""
    options: dict[str, object]


class _Inner(NamedTuple):
    """A selection whose strings' options are not complete until all of it is read."""

    kind: str
    """Its keyword."""
    place: int
    parts: tuple[_Inner | _Leaf, ...]
    numbers: tuple[_Bounds, ...] = ()
    """The bounds of each gap of ``ftnear``, of a distance, or (the upper one) of a window."""


@lru_cache(maxsize=65_536)
def parse_selection(text: str) -> Selection:
    """Parse a selection. Raises `TextFault` or its subclass `TextRefused`."""
    check_length(text)
    parser = _Parser(text)
    tree = parser.selection(0)
    token = parser.peek()
    if token.kind != "end":
        raise parser.unexpected(("ftand", "ftor", "a filter like distance at most 2 words", "the end"))
    selection = _make(tree, False)
    if sum(len(phrase.words) for phrase in phrases_in(selection)) > MOST_WORDS:
        raise TextRefused(0, "a selection of more words", f"the limit is {MOST_WORDS} words", "split it")
    return selection


def check_length(text: str) -> None:
    """Raise `TextRefused` for a text that is too long."""
    if len(text) > LONGEST:
        raise TextRefused(LONGEST, "a longer full-text selection", f"the limit is {LONGEST:,} characters", "split it")


def check_depth(depth: int, place: int) -> None:
    """Raise `TextRefused` if more than `DEEPEST` brackets are open."""
    if depth > DEEPEST:
        raise TextRefused(place, "nesting", f"brackets are nested more than {DEEPEST} deep", "flatten it")


@lru_cache(maxsize=65_536)
def find_patterns(text: str) -> tuple[str, ...]:
    """Return the words of a selection read ``using wildcards``. Raises what `parse_selection` raises."""
    if "wildcards" not in text.lower():
        return ()
    phrases = phrases_in(parse_selection(text))
    return tuple(word for phrase in phrases if phrase.options.wildcards for word in phrase.words)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokenise(text)
        self._at = 0
        self._filters = 0

    def peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _accept(self, *words: str) -> bool:
        """Take these words if they follow."""
        texts = [token.text for token in self._tokens[self._at : self._at + len(words)] if token.kind == "word"]
        if texts != list(words):
            return False
        self._at += len(words)
        return True

    def unexpected(self, expected: tuple[str, ...]) -> TextFault:
        token = self.peek()
        if token.kind == "end":
            return TextFault(token.place, "the full-text selection ends too early", expected)
        written = self._text[token.place : token.place + len(token.text)]
        if token.kind == "word" and token.text in _REFUSED:
            reason, hint = _REFUSED[token.text]
            return TextRefused(token.place, f"'{written}' in a full-text selection", reason, hint)
        if token.kind == "word" and 'words in quotes, like "olympic games"' in expected:
            return TextFault(token.place, f"the word {written} is not in quotes", (f'"{written}"',))
        return TextFault(token.place, f"unexpected {written} in the full-text selection", expected)

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self.unexpected((word,))

    def _sign(self, sign: str) -> None:
        if self.peek().kind != "sign" or self.peek().text != sign:
            raise self.unexpected((sign,))
        self._next()

    def _number(self) -> int:
        if self.peek().kind != "number" or len(self.peek().text) > 9:
            raise self.unexpected(("a whole number",))
        return int(self._next().text)

    def selection(self, depth: int) -> _Inner | _Leaf:
        check_depth(depth, self.peek().place)
        found = self._chain("ftor", lambda: self._chain("ftand", lambda: self._negation(depth)))
        while True:
            place = self.peek().place
            if self._accept("ordered"):
                found = _Inner("ordered", place, (found,))
            elif self._accept("window"):
                size = self._number()
                self._units()
                found = _Inner("window", place, (found,), ((None, size),))
            elif self._accept("distance"):
                bounds = self._range()
                self._units()
                found = _Inner("distance", place, (found,), (bounds,))
            elif isinstance(found, _Inner) and found.kind in _FILTERS and self.peek().text in ("ftand", "ftor"):
                joined = f"{self.peek().text} after a filter (distance, window, ordered), which ends its selection"
                raise TextFault(place, joined, ('brackets, as in ("a" ftand "b" distance at most 2 words) ftand "c"',))
            else:
                return found
            self._filters += 1
            if self._filters > MOST_FILTERS:
                raise TextRefused(place, "another filter", f"the limit is {MOST_FILTERS} filters", "keep one of a kind")

    def _chain(self, word: str, read: Callable[[], _Inner | _Leaf]) -> _Inner | _Leaf:
        place = self.peek().place
        parts = [read()]
        while self._accept(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else _Inner(word, place, tuple(parts))

    def _units(self) -> None:
        for unit in ("sentences", "paragraphs", "sentence", "paragraph"):
            if self.peek().text == unit:
                reason, hint = _REFUSED["same"]
                raise TextRefused(self.peek().place, f"the unit {unit}", reason, hint)
        if not self._accept("word"):
            self._expect("words")

    def _range(self) -> _Bounds:
        if self._accept("exactly"):
            exact = self._number()
            return exact, exact
        if self._accept("at", "least"):
            return self._number(), None
        if self._accept("at", "most"):
            return None, self._number()
        if self._accept("from"):
            least = self._number()
            self._expect("to")
            return least, self._number()
        raise self.unexpected(("exactly", "at least", "at most", "from"))

    def _negation(self, depth: int) -> _Inner | _Leaf:
        place = self.peek().place
        if self._accept("ftnot"):
            return _Inner("ftnot", place, (self._near(depth),))
        return self._near(depth)

    def _near(self, depth: int) -> _Inner | _Leaf:
        place = self.peek().place
        parts = [self._primary(depth)]
        gaps: list[_Bounds] = []
        while self._accept("ftnear"):
            self._sign("[")
            least = self._number()
            self._sign(",")
            gaps.append((least, self._number() if self.peek().kind == "number" else None))
            self._sign("]")
            parts.append(self._primary(depth))
        if not gaps:
            return parts[0]
        if any(isinstance(part, _Inner) or part.choice != "phrase" for part in parts):
            raise TextFault(place, "ftnear joins single words or phrases only", ("a string on each side",))
        return _Inner("ftnear", place, tuple(parts), tuple(gaps))

    def _primary(self, depth: int) -> _Inner | _Leaf:
        token = self.peek()
        found: _Inner | _Leaf
        if token.kind == "string":
            self._next()
            text = token.text[1:-1].replace(token.text[0] * 2, token.text[0])
            found = _Leaf(text, token.place, self._choice(), {})
        elif token.kind == "sign" and token.text == "(":
            self._next()
            found = self.selection(depth + 1)
            self._sign(")")
        else:
            raise self.unexpected(('words in quotes, like "olympic games"', "("))
        options: dict[str, object] = {}
        while self._accept("using"):
            self._option(options)
        return _with_options(found, options) if options else found

    def _choice(self) -> str:
        if self._accept("any", "word"):
            return "any word"
        if self._accept("all", "words"):
            return "all words"
        for word in ("any", "all", "phrase"):
            if self._accept(word):
                break
        return "phrase"

    def _option(self, options: dict[str, object]) -> None:
        token = self.peek()
        if token.text in _REFUSED_OPTIONS:
            reason, hint = _REFUSED_OPTIONS[token.text]
            raise TextRefused(token.place, f"'using {token.text}'", reason, hint)
        for name, values in _OPTION_WORDS.items():
            for words, value in values:
                if self._accept(*words):
                    if name in options:
                        raise TextFault(token.place, f"the option {name} is given twice", ("one of them",))
                    options[name] = value
                    return
        raise self.unexpected(tuple(" ".join(words) for values in _OPTION_WORDS.values() for words, _ in values))


def _with_options(tree: _Inner | _Leaf, options: dict[str, object]) -> _Inner | _Leaf:
    """Apply options to all strings of `tree`; those nearer to a string win."""
    if isinstance(tree, _Leaf):
        return tree._replace(options={**options, **tree.options})
    return tree._replace(parts=tuple(_with_options(part, options) for part in tree.parts))


def _tokenise(text: str) -> list[_Token]:
    tokens = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        assert match is not None
        at = match.end()
        string, word, number, sign = match.groups()
        if string is not None:
            tokens.append(_Token("string", string, match.start(1)))
        elif word is not None:
            tokens.append(_Token("word", word.lower(), match.start(2)))
        elif number is not None:
            tokens.append(_Token("number", number, match.start(3)))
        elif sign is not None:
            if sign in "\"'":
                raise TextFault(match.start(4), "this string does not end", (f"a closing {sign}",))
            tokens.append(_Token("sign", sign, match.start(4)))
        else:
            tokens.append(_Token("end", "", len(text.rstrip())))
            return tokens


def _make(tree: _Inner | _Leaf, positional: bool) -> Selection:
    """Make the selection of a tree whose options are complete; `positional`: under a filter."""
    if isinstance(tree, _Leaf):
        return _make_leaf(tree)
    if tree.kind == "ftnot" and positional:
        raise TextRefused(
            tree.place,
            "ftnot under distance, window or ordered",
            "it has no position in the text",
            "put it in brackets outside the filter",
        )
    below = positional or tree.kind in ("distance", "window", "ordered")
    parts = tuple(_make(part, below) for part in tree.parts)
    match tree.kind:
        case "ftand":
            return And(parts)
        case "ftor":
            return Or(parts)
        case "ftnot":
            return Not(parts[0])
        case "ftnear":
            return Near(tuple(part for part in parts if isinstance(part, Phrase)), tree.numbers)
        case "ordered":
            return Ordered(parts[0])
    ((least, most),) = tree.numbers
    if tree.kind == "window":
        assert most is not None
        return Window(parts[0], most)
    return Distance(parts[0], least, most)


def _make_leaf(leaf: _Leaf) -> Selection:
    options = Options()._replace(**leaf.options)  # type: ignore[arg-type]
    words = split_patterns(leaf.text) if options.wildcards else words_of(leaf.text)
    if not words:
        raise TextFault(leaf.place, "this string has no word", ("a string with a letter or a number",))
    if leaf.choice == "phrase" or len(words) == 1:
        return Phrase(tuple(words), options)
    singles = tuple(Phrase((word,), options) for word in words)
    return Or(singles) if leaf.choice == "any word" else And(singles)
