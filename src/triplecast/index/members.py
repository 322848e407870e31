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
    mode_of_each = np.zeros(len(ordered), np.uint8)
    for start in range(0, len(ordered), LAID_OUT_AT_ONCE):
        for alike in _group_alike(ordered[start : start + LAID_OUT_AT_ONCE], start, compiler, plain):
            plan = alike.plan
            mode = mode_of(alike.entailment, plan.bare)
            if mode is not EntailmentMode.PLAIN:
                mode_of_each[alike.subscriptions] = mode
            layout = layouts[mode]
            layout.add(alike)
            if not plan.decided or plan.combination is not None:
                for number in alike.subscriptions:
                    subscription = ordered[number].subscription
                    layout.texts[number] = (subscription.text, subscription.language)
    ids = np.array([registration.id for registration in ordered], np.int64)
    return {mode: layouts[mode].finish(ids, mode_of_each == mode) for mode in sorted(layouts)}


def _group_alike(
    registrations: Sequence[Registration], first: int, compiler: SubscriptionCompiler, plain: _Layout
) -> Iterable[_Alike]:
    """Group registrations by plan; `first` is the number of the first of them."""
    groups: dict[tuple[int, Entailment], _Alike] = {}
    for number, registration in enumerate(registrations, first):
        try:
            compiled = compiler.compile(registration)
        except (QuerySyntaxError, QueryRefused) as fault:
            plain.refused.append(Refused(int(registration.id), str(fault)))
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
        self.parts: list[tuple[Items, int]] = []
        """Branches, and the number of the member that has each within its subscription. `Items.subscription` has the
        registration's number."""
        self.projections: dict[Projection, int] = {}
        self.projected: list[tuple[NDArray[np.int64], int, int]] = []
        """Subscriptions, branch, projection."""
        self.texts: dict[int, tuple[str, str]] = {}
        self.refused: list[Refused] = []

    def add(self, alike: _Alike) -> None:
        plan = alike.plan
        subscriptions = np.array(alike.subscriptions, np.int64)
        for number, branch in enumerate(plan.branches):
            self.parts.append((_lay_out(branch, alike, self.ids), number if plan.decided else 0))
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
        items = [
            part._replace(subscription=(first[part.subscription] + member).astype(np.int32))
            for part, member in self.parts
        ]
        return MemberArrays(
            np.repeat(registrations, sizes),
            join_items(items),
            tuple(constant.encode() for constant in self.ids),
            projection_of,
            tuple(self.projections),
            {int(first[number]): text for number, text in self.texts.items()},
            tuple(self.refused),
        )


def _lay_out(branch: Branch, alike: _Alike, ids: defaultdict[str, int]) -> Items:
    """One item of a branch for each of the subscriptions that are alike; `ids` is the dictionary of constants."""
    plan, members = alike.plan, len(alike.subscriptions)

    def texts(reference: int) -> list[str]:
        if reference < plan.slots:
            return [constants[reference] for constants in alike.constants]
        return [plan.reference(constants, reference) for constants in alike.constants]

    size = max(1, len(branch.patterns))
    patterns = np.full((members, size, 3), ALWAYS, np.int32)
    for row, pattern in enumerate(branch.patterns):
        for place, node in enumerate(pattern):
            patterns[:, row, place] = node if node < 0 else list(map(ids.__getitem__, texts(node)))
    atoms = [
        (atom, CONTINUES if at + 1 < len(clause) else 0) for clause in branch.clauses for at, atom in enumerate(clause)
    ]
    code = np.zeros((len(atoms), 4), np.uint8)
    value = np.zeros((members, len(atoms)), np.float64)
    for column, (atom, continues) in enumerate(atoms):
        code[column] = (atom.variable, atom.operator, atom.lane, continues)
        if atom.lane in TERM_LANES:
            value[:, column] = list(map(ids.__getitem__, texts(atom.reference)))
        elif atom.lane not in (Lane.NEVER, Lane.UNLIKE):
            value[:, column] = [place_of(text)[1] for text in texts(atom.reference)]
    return Items(
        np.array(alike.subscriptions, np.int32),
        np.arange(members + 1, dtype=np.int64) * size,
        patterns.reshape(-1, 3),
        np.arange(members + 1, dtype=np.int64) * len(code),
        np.tile(code, (members, 1)),
        value.reshape(-1),
        np.full(members, not plan.decided, np.uint8),
        np.full(members, branch.variables, np.int32),
    )


def join_items(parts: Sequence[Items]) -> Items:
    """Concatenate items."""
    parts = parts or [empty_items()]
    return Items(*map(np.concatenate, zip(*parts, strict=True)))._replace(
        offsets=offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        atom_offsets=offsets_of(np.concatenate([np.diff(part.atom_offsets) for part in parts])),
    )


def offsets_of(sizes: NDArray[np.integer] | Sequence[int]) -> I64:
    """[n + 1] the offsets of n parts of these sizes, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
