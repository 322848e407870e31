"""Full-text selections as frozen values: the part of XQuery and XPath Full Text 1.0, section 3, that is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Options(NamedTuple):
    """Match options (section 3.4) with the defaults of semantics 5.2."""

    case: str = "insensitive"
    """``insensitive``, ``sensitive``, or ``lowercase`` or ``uppercase``: only words written so."""
    marks: bool = False
    """Diacritics count."""
    stemming: bool = False
    wildcards: bool = False


PLAIN = Options()


def in_case(word: str, options: Options) -> str:
    """A word of the query as texts have to have it: under ``uppercase`` ``ı`` asks for ``I``, another word than its
    own folding."""
    return {"lowercase": word.lower(), "uppercase": word.upper()}.get(options.case, word)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words side by side, one or more, as written in the query; with `Options.wildcards` each is a pattern
    (`wildcards.Pattern`)."""

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
    """``ftnear``: the parts in text order, `gaps[i]` (fewest and most words, None: no bound) between part i and the
    next (semantics 5.4)."""

    parts: tuple[Phrase, ...]
    gaps: tuple[tuple[int | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class Distance:
    """Between neighbours in text order lie at least and at most so many words (None: no bound); -1 for two at one
    place."""

    part: Selection
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """All within `size` words."""

    part: Selection
    size: int


@dataclass(frozen=True, slots=True)
class Ordered:
    """In the order in which the query names them."""

    part: Selection


Selection: TypeAlias = Phrase | And | Or | Not | Near | Distance | Window | Ordered
"""No `Not` stands inside a `Distance`, `Window` or `Ordered` (semantics 5.5)."""
