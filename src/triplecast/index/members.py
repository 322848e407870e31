"""MemberArrays: subscriptions laid out as flat arrays, from which an index is built and to which a segment unfolds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.combination import Combination
from triplecast.compile.compiled import DEFAULT_COMPILER, SubscriptionCompiler
from triplecast.compile.constants import place_of
from triplecast.compile.plan import Branch, Plan
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.kernels.build import ALWAYS, Items, empty_items
from triplecast.kernels.layout import ASK_FLAG, CONTINUES, DISTINCT_FLAG, I32, I64
from triplecast.model.comparison_codes import TERM_LANES, Lane
from triplecast.model.entailment import Entailment, EntailmentMode, mode_of
from triplecast.model.subscription import Registration


class Role(NamedTuple):
    """The branch of a combination that a member has."""

    combination: Combination
    branch: int


class Projection(NamedTuple):
    """The columns of a decided member's bindings, by name, and flags as in `Answers.flags`."""

    names: tuple[str, ...]
    variables: tuple[int, ...]
    flags: int
    role: Role | None
    """None if its solutions are those of the subscription."""


class Refused(NamedTuple):
    """An invalid registration, which never matches."""

    registration: int
    reason: str


@dataclass(frozen=True, slots=True)
class MemberArrays:
    """N members, ascending by registration id, as M items (one per branch).

    A subscription that the evaluator decides is one member with all its branches. Each branch of one that the index
    decides is a member of its own, in order. In kernels and in the numbers of a segment, *subscription* means member.
    """

    registrations: I64
    """[N]; members of one subscription are side by side."""
    items: Items
    constants: tuple[bytes, ...]
    """By dictionary id."""
    projection_of: I32
    """[N], -1 where the evaluator decides."""
    projections: tuple[Projection, ...]
    texts: dict[int, tuple[str, str]]
    """(text, language) by first member, of subscriptions that the evaluator decides or may have to decide."""
    refused: tuple[Refused, ...]


LAID_OUT_AT_ONCE = 20_000
"""Registrations whose constants are held as Python objects at a time."""


class _Alike(NamedTuple):
    """Subscriptions with the same plan, by number, and the constants of each."""

    plan: Plan
    entailment: Entailment
    subscriptions: list[int]
    constants: list[tuple[str, ...]]


def lay_out_members(
    registrations: Iterable[Registration], compiler: SubscriptionCompiler = DEFAULT_COMPILER
) -> dict[EntailmentMode, MemberArrays]:
    """Parse, compile and lay out `registrations`, by entailment mode: each that occurs, and `PLAIN` always. An invalid
    registration is recorded in `PLAIN` and has no members."""
    ordered = sorted(registrations, key=lambda registration: registration.id)
    layouts: defaultdict[EntailmentMode, _Layout] = defaultdict(_Layout)
    plain = layouts[EntailmentMode.PLAIN]
    reading_of_each = np.zeros(len(ordered), np.uint8)
    for start in range(0, len(ordered), LAID_OUT_AT_ONCE):
        for alike in _group_alike(ordered[start : start + LAID_OUT_AT_ONCE], start, compiler, plain):
            plan = alike.plan
            reading = mode_of(alike.entailment, plan.bare)
            if reading is not EntailmentMode.PLAIN:
                reading_of_each[alike.subscriptions] = reading
            layout = layouts[reading]
            layout.add(alike)
            if not plan.decided or plan.combination is not None:
                for number in alike.subscriptions:
                    subscription = ordered[number].subscription
                    layout.texts[number] = (subscription.text, subscription.language)
    ids = np.array([registration.id for registration in ordered], np.int64)
    return {reading: layouts[reading].finish(ids, reading_of_each == reading) for reading in sorted(layouts)}


def _group_alike(
    registrations: Sequence[Registration], first: int, compiler: SubscriptionCompiler, plain: _Layout
) -> Iterable[_Alike]:
    """Group registrations by plan; `first` is the number of the first of them."""
    groups: dict[tuple[int, Entailment], _Alike] = {}
    for number, registration in enumerate(registrations, first):
        try:
            compiled = compiler.compile(registration)
        except (QuerySyntaxError, QueryRefused) as fault:
            plain.refuse(registration, fault)
            continue
        _, constants, entailment, plan = compiled
        alike = groups.get((id(plan), entailment))
        if alike is None:
            alike = groups[id(plan), entailment] = _Alike(plan, entailment, [], [])
        alike.subscriptions.append(number)
        alike.constants.append(constants)
    return groups.values()


class _Layout:
    """The arrays of one entailment mode, collected a template at a time."""

    def __init__(self) -> None:
        self.ids: defaultdict[str, int] = defaultdict(count().__next__)
        self.parts: list[_Part] = []
        self.projections: dict[Projection, int] = {}
        self.projected: list[tuple[NDArray[np.int64], int, int]] = []
        """Subscriptions, branch, projection."""
        self.texts: dict[int, tuple[str, str]] = {}
        self.refused: list[Refused] = []

    def refuse(self, registration: Registration, fault: QuerySyntaxError | QueryRefused) -> None:
        self.refused.append(Refused(int(registration.id), str(fault)))

    def add(self, alike: _Alike) -> None:
        plan = alike.plan
        subscriptions = np.array(alike.subscriptions, np.int64)
        columns = _Columns(plan, alike.constants, self.ids)
        for number, branch in enumerate(plan.branches):
            member = number if plan.decided else 0
            self.parts.append(_lay_out(branch, plan.decided, (subscriptions, member), columns))
        for number, answer in enumerate(plan.answers):
            projection = Projection(
                tuple(name for name, _ in answer.columns),
                tuple(variable for _, variable in answer.columns),
                DISTINCT_FLAG * answer.distinct + ASK_FLAG * answer.ask,
                None if plan.combination is None else Role(plan.combination, number),
            )
            kept = self.projections.setdefault(projection, len(self.projections))
            self.projected.append((subscriptions, number, kept))

    def finish(self, registrations: I64, own: NDArray[np.bool_]) -> MemberArrays:
        """Number the members of this layout's `own` registrations."""
        sizes = own.astype(np.int64)
        for subscriptions, branch, _ in self.projected:
            sizes[subscriptions] = np.maximum(sizes[subscriptions], branch + 1)
        first = offsets_of(sizes)
        projection_of = np.full(first[-1], -1, np.int32)
        for subscriptions, branch, number in self.projected:
            projection_of[first[subscriptions] + branch] = number
        items = join_items([part.items(first) for part in self.parts])
        return MemberArrays(
            np.repeat(registrations, sizes),
            items,
            tuple(constant.encode() for constant in self.ids),
            projection_of,
            tuple(self.projections),
            {int(first[number]): text for number, text in self.texts.items()},
            tuple(self.refused),
        )


class _Columns:
    """The constants of the members of one plan, by reference, as dictionary ids or numbers."""

    def __init__(self, plan: Plan, constants: Sequence[tuple[str, ...]], ids: defaultdict[str, int]) -> None:
        self.plan = plan
        self.constants = constants
        self.ids = ids

    def _texts(self, reference: int) -> list[str]:
        if reference < self.plan.slots:
            return [constants[reference] for constants in self.constants]
        return [self.plan.reference(constants, reference) for constants in self.constants]

    def terms(self, reference: int) -> list[int]:
        return list(map(self.ids.__getitem__, self._texts(reference)))

    def numbers(self, reference: int) -> list[float]:
        return [place_of(text)[1] for text in self._texts(reference)]


class _Part(NamedTuple):
    """One branch of n subscriptions with the same plan."""

    subscriptions: NDArray[np.int64]
    member: int
    """The number of the member that has this branch, within its subscription."""
    patterns: I32
    """[n, k, 3]"""
    code: NDArray[np.uint8]
    """[a, 4]"""
    value: NDArray[np.float64]
    """[n, a]"""
    verified: bool
    variables: int

    def items(self, first: I64) -> Items:
        """Number the items; `first` is the first member of each subscription."""
        members, size = self.patterns.shape[:2]
        return Items(
            (first[self.subscriptions] + self.member).astype(np.int32),
            np.arange(members + 1, dtype=np.int64) * size,
            self.patterns.reshape(-1, 3),
            np.arange(members + 1, dtype=np.int64) * len(self.code),
            np.tile(self.code, (members, 1)),
            self.value.reshape(-1),
            np.full(members, self.verified, np.uint8),
            np.full(members, self.variables, np.int32),
        )


def _lay_out(branch: Branch, decided: bool, of: tuple[NDArray[np.int64], int], columns: _Columns) -> _Part:
    """Lay out a branch; `of` has the subscriptions, and the member of each that has the branch."""
    subscriptions, member = of
    members = len(subscriptions)
    size = max(1, len(branch.patterns))
    patterns = np.full((members, size, 3), ALWAYS, np.int32)
    for row, pattern in enumerate(branch.patterns):
        for place, node in enumerate(pattern):
            patterns[:, row, place] = node if node < 0 else columns.terms(node)
    atoms = [
        (atom, CONTINUES if at + 1 < len(clause) else 0) for clause in branch.clauses for at, atom in enumerate(clause)
    ]
    code = np.zeros((len(atoms), 4), np.uint8)
    value = np.zeros((members, len(atoms)), np.float64)
    for column, (atom, continues) in enumerate(atoms):
        code[column] = (atom.variable, atom.operator, atom.lane, continues)
        if atom.lane in TERM_LANES:
            value[:, column] = columns.terms(atom.reference)
        elif atom.lane not in (Lane.NEVER, Lane.UNLIKE):
            value[:, column] = columns.numbers(atom.reference)
    return _Part(subscriptions, member, patterns, code, value, not decided, branch.variables)


def join_items(parts: Sequence[Items]) -> Items:
    """Concatenate items."""
    if not parts:
        parts = [empty_items()]
    return Items(
        np.concatenate([part.subscription for part in parts]),
        _join_offsets([part.offsets for part in parts]),
        np.concatenate([part.patterns for part in parts]),
        _join_offsets([part.atom_offsets for part in parts]),
        np.concatenate([part.atom_code for part in parts]),
        np.concatenate([part.atom_value for part in parts]),
        np.concatenate([part.verified for part in parts]),
        np.concatenate([part.variables for part in parts]),
    )


def _join_offsets(parts: Sequence[I64]) -> I64:
    return offsets_of(np.concatenate([np.diff(part) for part in parts]))


def offsets_of(sizes: NDArray[np.integer] | Sequence[int]) -> I64:
    """[n + 1] the offsets of n parts of these sizes, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
