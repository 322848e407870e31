"""The quickest path of `template`: texts without quotation marks are cut at white space, and each chunk is looked up
instead of its tokens. Whatever it does not know, it leaves to the path over tokens, which teaches it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from triplecast.errors import QuerySyntaxError
from triplecast.languages.refusals import MAX_CHARACTERS
from triplecast.languages.tokens import CHUNKS_KEPT, tokens_of_chunk

MARK = "\x01"
"""The first sign of the piece of a token that is a constant."""
_BETWEEN = "\x02"
_FORMS = frozenset("SsAaCcDd")
"""First letters of the query forms: no declaration or comment goes on there."""

_Found = TypeVar("_Found")
Choice = Callable[[list[str]], Sequence[str]]


class _Table(dict[str, str]):
    """What each chunk gives; bounded. Raises ValueError for a chunk that gives nothing."""

    def __init__(self, make: Callable[[Sequence[str]], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, chunk: str) -> str:
        tokens = tokens_of_chunk(chunk)
        if tokens is None:
            raise ValueError(chunk)
        if len(self) >= CHUNKS_KEPT:
            self.clear()
        value = self[chunk] = self._make(tokens)
        return value


class ChunkTables:
    """What chunks give under one prologue."""

    def __init__(self, pieces: Mapping[str, str], terms: Mapping[str, str]) -> None:
        self._pieces = pieces
        self.shapes = _Table(lambda tokens: " ".join(map(pieces.__getitem__, tokens)))
        """The pieces of a chunk's tokens."""
        self.constants = _Table(lambda tokens: terms[tokens[self.place_of_constant(tokens)]])
        """A chunk's only constant, as a term."""

    def place_of_constant(self, tokens: Sequence[str]) -> int:
        """The place of the only constant among a chunk's tokens. Raises ValueError where there are several, or none."""
        if len(tokens) == 1 and self._pieces[tokens[0]].startswith(MARK):
            return 0
        (place,) = [place for place, token in enumerate(tokens) if self._pieces[token].startswith(MARK)]
        return place


class _Head(NamedTuple):
    """How texts begin that are the same up to their first ``{``."""

    end: int
    """Of the prologue."""
    tables: ChunkTables


class ConstantPlaces(NamedTuple):
    """Where constants are among some strings followed by `fixed`."""

    numbers: Sequence[int]
    choice: Choice
    """Picks those numbers."""
    fixed: list[str]


class _ChunkShape(NamedTuple, Generic[_Found]):
    pinned: list[int]
    """The chunks with the constants on which it depends what is found."""
    found: dict[tuple[str, ...], tuple[_Found, ConstantPlaces]]


class ChunkedTexts(Generic[_Found]):
    """What the path over tokens found for texts of the same chunks, constants apart. Every table is bounded, and each
    step on one is one dictionary operation, so threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heads: dict[str, _Head] = {}
        self._shapes: dict[str, _ChunkShape[_Found] | None] = {}
        """None of those that stay with tokens."""

    def read(self, text: str) -> tuple[_Found, tuple[str, ...]] | None:
        """What is found for a text, and its constants."""
        head = self._heads.get(text[: text.find("{")])
        if head is None or not _is_plain(text):
            return None
        chunks = text[head.end :].split()
        constants = head.tables.constants
        try:
            shape = self._shapes.get(_BETWEEN.join(map(head.tables.shapes.__getitem__, chunks)))
            known = shape and shape.found.get(tuple([constants[chunks[place]] for place in shape.pinned]))
            if known is None:
                return None
            found, places = known
            strings = chunks + places.fixed if places.fixed else chunks
            return found, tuple(map(constants.__getitem__, places.choice(strings)))
        except (ValueError, QuerySyntaxError):
            return None

    def teach(
        self,
        text: str,
        end: int,
        tables: ChunkTables,
        pinned: Sequence[int],
        places: ConstantPlaces,
        choose: Callable[[list[int]], Choice],
        found: _Found,
    ) -> None:
        """Keep what was found for a text whose prologue ends at `end`; `pinned` and `places` count tokens behind it."""
        head = text[: text.find("{")]
        if not _is_plain(text) or not end < len(head) < len(text) - 1 or text[end] not in _FORMS or "#" in head:
            return
        chunks = text[end:].split()
        tokens = [*map(tokens_of_chunk, chunks)]
        shape = _BETWEEN.join(map(tables.shapes.__getitem__, chunks)) if None not in tokens else ""
        if not shape or self._shapes.get(shape, self) is None:
            return
        for kept in (self._heads, self._shapes):
            if len(kept) >= self._most:
                kept.clear()
        self._heads[head] = _Head(end, tables)
        try:
            of_pinned, of_places = (
                _chunks_of(numbers, [each or () for each in tokens], places.fixed, tables)
                for numbers in (pinned, places.numbers)
            )
        except ValueError:
            self._shapes[shape] = None
            return
        entry = self._shapes.get(shape) or _ChunkShape[_Found](of_pinned, {})
        self._shapes[shape] = entry
        if len(entry.found) >= self._most:
            entry.found.clear()
        moved = ConstantPlaces(of_places, choose(of_places), places.fixed)
        entry.found[tuple([tables.constants[chunks[place]] for place in of_pinned])] = found, moved


def _is_plain(text: str) -> bool:
    return text.isascii() and not ('"' in text or "'" in text or "\\" in text) and len(text) <= MAX_CHARACTERS


def _chunks_of(
    places: Sequence[int], tokens: Sequence[Sequence[str]], fixed: Sequence[str], tables: ChunkTables
) -> list[int]:
    """From the places of constants among tokens followed by `fixed` to those of their chunks. Raises ValueError where a
    constant is not alone in its chunk."""
    ends = [*accumulate(map(len, [*tokens, *((each,) for each in fixed)]))]
    if any(tokens_of_chunk(each) != (each,) or '"' in each for each in fixed):
        raise ValueError(fixed)
    found = []
    for place in places:
        chunk = bisect_right(ends, place)
        if chunk < len(tokens) and tables.place_of_constant(tokens[chunk]) != place - ends[chunk] + len(tokens[chunk]):
            raise ValueError(place)
        found.append(chunk)
    return found
