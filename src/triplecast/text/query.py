"""Full-text selections as frozen values: the answered part of XQuery and XPath Full Text 1.0, section 3; and the
errors of their text, with their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Options(NamedTuple):
    """Match options (section 3.4) with the defaults of semantics 5.2."""

    case: str = "insensitive"
    """``insensitive``, ``sensitive``, or only words in ``lowercase`` or ``uppercase``."""
    marks: bool = False
    """Whether diacritics count."""
    stemming: bool = False
    wildcards: bool = False


PLAIN = Options()


def in_case(word: str, options: Options) -> str:
    """A word of the query as texts must have it: with ``uppercase``, ``ı`` needs ``I``, which folds otherwise."""
    return {"lowercase": word.lower(), "uppercase": word.upper()}.get(options.case, word)


@dataclass(frozen=True, slots=True)
class Phrase:
    """One or more adjacent words as written in the query; with `Options.wildcards` each is a pattern."""

    words: tuple[str, ...]
    options: Options = PLAIN


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Selection, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Selection, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Selection


@dataclass(frozen=True, slots=True)
class Near:
    """``ftnear``: the parts in text order, with `gaps[i]` words (fewest and most, None: no bound) between part i and
    the next (semantics 5.4)."""

    parts: tuple[Phrase, ...]
    gaps: tuple[tuple[int | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class Distance:
    """The fewest and most words between neighbours in text order (None: no bound); two at one place are -1 apart."""

    part: Selection
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """All parts within `size` words."""

    part: Selection
    size: int


@dataclass(frozen=True, slots=True)
class Ordered:
    """The parts in the order of the query."""

    part: Selection


Selection: TypeAlias = Phrase | And | Or | Not | Near | Distance | Window | Ordered
"""No `Distance`, `Window` or `Ordered` holds a `Not` (semantics 5.5)."""


def phrases_in(selection: Selection, negated: bool = True) -> Iterator[Phrase]:
    """Yield the phrases of a selection in order, with those under `Not` unless `negated` is false."""
    if isinstance(selection, Phrase):
        yield selection
    elif isinstance(selection, And | Or | Near):
        for part in selection.parts:
            yield from phrases_in(part, negated)
    elif negated or not isinstance(selection, Not):
        yield from phrases_in(selection.part, negated)


class TextFault(ValueError):
    """Text outside the grammar, or that cannot match: `offset` in characters, and what was expected there."""

    def __init__(self, offset: int, message: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.expected = expected


class TextRefused(TextFault):
    """A construct that is understood but not answered, with its name, the reason (`message`) and a `hint`."""

    def __init__(self, offset: int, construct: str, reason: str, hint: str) -> None:
        super().__init__(offset, reason)
        self.construct = construct
        self.hint = hint
