"""Segments: immutable indexes of a range of subscriptions, in memory or in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.combination import Combination, read_combination, write_combination
from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.errors import StorageFault
from triplecast.index.build import Tables, build_tables
from triplecast.index.file import REBUILD, ArrayFile, Sole, read_arrays, write_arrays
from triplecast.index.members import MemberArrays, Refused, Role, lay_out_members, offsets_of
from triplecast.index.registrations import RegistrationNumbers
from triplecast.index.structures import Anchor, RarestKey
from triplecast.kernels.layout import FACT_LANGUAGES, I32, I64, U8, Answers, Dictionary, Index
from triplecast.kernels.pairing import find_places
from triplecast.model.entailment import EntailmentMode
from triplecast.model.subscription import Registration
from triplecast.text import ANALYSER


class Texts(NamedTuple):
    """The query texts of subscriptions that the evaluator decides or may have to decide."""

    subscription: I32
    """First members, ascending."""
    offsets: I64
    text: U8
    """UTF-8."""
    language: U8
    languages: tuple[str, ...]

    def of(self, subscription: int) -> tuple[str, str]:
        """The (text, language) of a subscription that has them here."""
        row = int(np.searchsorted(self.subscription, subscription))
        assert self.subscription[row] == subscription
        text = self.text[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()
        return text, self.languages[self.language[row]]

    def all(self) -> dict[int, tuple[str, str]]:
        return {number: self.of(number) for number in self.subscription.tolist()}


def make_texts(texts: Mapping[int, tuple[str, str]]) -> Texts:
    ordered = sorted(texts.items())
    encoded = [text.encode() for _, (text, _) in ordered]
    languages = tuple(sorted({language for _, (_, language) in ordered}))
    return Texts(
        np.array([number for number, _ in ordered], np.int32),
        offsets_of([len(text) for text in encoded]),
        np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
        np.array([languages.index(language) for _, (_, language) in ordered], np.uint8),
        languages,
    )


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Segment:
    """An index of subscriptions as members (`members.MemberArrays`), numbered by ascending registration id."""

    tables: Tables
    texts: Texts
    refused: tuple[Refused, ...]
    mode: EntailmentMode = EntailmentMode.PLAIN
    """The view of publications that all its subscriptions are evaluated against."""
    places: U8 = field(init=False)
    """The places of a triple that its keys use, by predicate (`pairing.find_places`)."""

    def __post_init__(self) -> None:
        places = find_places(self.tables.index.key_terms, len(self.tables.dictionary.hashes))
        object.__setattr__(self, "places", places)

    @property
    def uses_languages(self) -> bool:
        """Whether any condition compares language tags."""
        return bool(self.tables.index.facts[FACT_LANGUAGES])

    @property
    def uses_words(self) -> bool:
        """Whether any subscription searches for words of a literal."""
        return len(self.tables.index.word_predicates) > 0

    @property
    def combines(self) -> bool:
        """Whether any subscription combines the rows of several members."""
        return any(role is not None for role in self.tables.roles)

    @property
    def members(self) -> int:
        return len(self.tables.registrations)

    @property
    def firsts(self) -> I32:
        """The first member of each subscription, ascending."""
        registrations = self.tables.registrations[:]
        return np.flatnonzero(np.diff(registrations, prepend=-1)).astype(np.int32)

    def __len__(self) -> int:
        """Count the subscriptions."""
        return len(self.firsts) if self.combines else self.members

    def write(self, path: Path, sole: Sole = nullcontext) -> None:
        """Write the segment to `path` as `write_durably` does. Raises `StorageFault`."""
        arrays: dict[str, NDArray[Any]] = {"registrations": self.tables.registrations.distances}
        groups = (
            ("index", self.tables.index),
            ("dictionary", self.tables.dictionary),
            ("answers", self.tables.answers),
        )
        for name, group in groups:
            arrays.update({f"{name}.{field}": array for field, array in group._asdict().items()})
        texts: dict[str, Any] = self.texts._asdict()
        languages = texts.pop("languages")
        arrays.update({f"texts.{field}": array for field, array in texts.items()})
        notes: dict[str, Any] = {
            "languages": list(languages),
            "refused": [list(each) for each in self.refused],
            "base": self.tables.registrations.base,
            "analyser": ANALYSER,
            "reading": int(self.mode),
            **_write_roles(self.tables.roles),
        }
        write_arrays(path, ArrayFile(arrays, notes), sole)

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Map a file that `write` wrote. Raises `StorageFault` for any other."""
        file = read_arrays(path)

        def group(name: str) -> dict[str, Any]:
            return {key.removeprefix(name): array for key, array in file.arrays.items() if key.startswith(name)}

        tables = Tables(
            Index(**group("index.")),
            Dictionary(**group("dictionary.")),
            Answers(**group("answers.")),
            RegistrationNumbers(file.notes["base"], file.arrays["registrations"]),
            _read_roles(file.notes["combinations"], file.notes["roles"]),
        )
        texts = Texts(**group("texts."), languages=tuple(file.notes["languages"]))
        refused = tuple(Refused(*each) for each in file.notes["refused"])
        segment = cls(tables, texts, refused, EntailmentMode(file.notes["reading"]))
        if segment.uses_words and file.notes["analyser"] != ANALYSER:
            found = f"its words are those of analyser {file.notes['analyser']}, here {ANALYSER} runs"
            raise StorageFault(path.name, found, REBUILD)
        return segment


def _write_roles(roles: Sequence[Role | None]) -> dict[str, Any]:
    """List each combination once, and (answer, combination, branch) for each answer with a role."""
    numbers: dict[Combination, int] = {}
    rows = [
        [answer, numbers.setdefault(role.combination, len(numbers)), role.branch]
        for answer, role in enumerate(roles)
        if role is not None
    ]
    return {"combinations": [write_combination(each) for each in numbers], "roles": [len(roles), rows]}


def _read_roles(combinations: Sequence[list[Any]], written: tuple[int, list[list[int]]]) -> tuple[Role | None, ...]:
    known = [read_combination(each) for each in combinations]
    answers, rows = written
    roles: list[Role | None] = [None] * answers
    for answer, combination, branch in rows:
        roles[answer] = Role(known[combination], branch)
    return tuple(roles)


def build_segments(
    registrations: Sequence[Registration],
    anchor: Anchor | None = None,
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> list[Segment]:
    """Parse, compile and index `registrations`: one segment for each entailment mode that they need.

    Refusals are recorded in the segment of mode `PLAIN`, not raised.
    """
    laid_out = lay_out_members(registrations, compiler)
    return [
        index_members(members, anchor or RarestKey(), mode)
        for mode, members in laid_out.items()
        if len(members.registrations) or len(laid_out) == 1
    ]


def build_segment(
    registrations: Sequence[Registration],
    anchor: Anchor | None = None,
    compiler: SubscriptionCompiler = DEFAULT_COMPILER,
) -> Segment:
    """Build the segment of registrations that need one entailment mode. Raises ValueError for others."""
    (segment,) = build_segments(registrations, anchor, compiler)
    return segment


def index_members(members: MemberArrays, anchor: Anchor, mode: EntailmentMode) -> Segment:
    return Segment(build_tables(members, anchor), make_texts(members.texts), members.refused, mode)
