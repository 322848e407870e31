"""MemberArrays subscriptions to the arrays of a segment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.texts import WORD
from triplecast.index.members import MemberArrays, Role, offsets_of
from triplecast.index.registrations import RegistrationNumbers
from triplecast.index.structures import (
    Anchor,
    Shapes,
    Structures,
    find_keys,
    find_shapes,
    find_structures,
    pack,
    with_always,
)
from triplecast.kernels.build import Items, canonicalise, fill_key_table, fill_term_table
from triplecast.kernels.conditions import FEW
from triplecast.kernels.entries import Entries, join_few_bounds, make_entries
from triplecast.kernels.hashing import hash_terms
from triplecast.kernels.layout import (
    ENDS,
    FACT_ALWAYS,
    FACT_COUNT,
    FACT_LANGUAGES,
    FACT_PHRASES,
    FACT_STEPS,
    FACT_UNFILTERED,
    FACT_VARIABLES,
    FACT_WORDS,
    GROUP_BYTE,
    GROUP_LANE,
    GROUP_OPERATOR,
    GROUP_STEP,
    I32,
    I64,
    NO_KEYS,
    SHAPE_FULL,
    SHAPE_JOIN,
    SHAPE_NECESSARY,
    SHAPE_STAR,
    SHAPE_VARIABLES,
    STEP_WHOLE,
    U8,
    Answers,
    Dictionary,
    Index,
)
from triplecast.kernels.words import pad
from triplecast.model.algebra import from_ntriples
from triplecast.model.comparison_codes import Comparison, Lane

_WORD = WORD.encode()
MOST_SINGLE = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Tables:
    """A segment's arrays."""

    index: Index
    dictionary: Dictionary
    answers: Answers
    registrations: RegistrationNumbers
    """[N], by member: a subscription of several members occurs as often."""
    roles: tuple[Role | None, ...]
    """By answer."""


def build_tables(members: MemberArrays, anchor: Anchor) -> Tables:
    """Build the arrays of a segment; equal members give equal bytes."""
    bounds, items = _rank_bounds(members)
    if anchor.unfiltered:
        items = with_always(items)
    key_terms, keys = find_keys(items, anchor)
    name_offsets = offsets_of(items.variables)
    canonical = canonicalise(items, keys, name_offsets)
    shapes = find_shapes(items, canonical.topology)
    structures = find_structures(items, canonical.keys, canonical.topology, shapes.of_item)
    answers, answer_of, roles = _find_answers(members, items, canonical.names, name_offsets)
    entries, atom_code, atom_value = make_entries(items, canonical.names, name_offsets)
    plain_offsets, plain = _file_plain(items, structures, answer_of)
    conditional = _file_entries(join_few_bounds(entries, structures.of_item), atom_code, items, structures, shapes)
    compares = np.diff(conditional.group_offsets) > 0
    assert (np.diff(shapes.rows[:, SHAPE_JOIN])[structures.shape[compares]] > 0).all(), "kernels.join needs their steps"
    word_predicate = members.constants.index(_WORD) if _WORD in members.constants else -1
    masks = ((key_terms >= 0) @ np.array([1, 2, 4])).astype(np.uint8)
    index = Index(
        facts=_find_facts(members, key_terms, shapes, word_predicate, anchor.unfiltered),
        key_table=fill_key_table(key_terms, _table_size(len(key_terms))),
        key_terms=key_terms,
        key_masks=np.unique(masks[key_terms[:, 0] != -2]),
        anchor_offsets=_count_offsets(structures.first_key, len(key_terms)),
        next_keys=np.full_like(structures.next_keys, NO_KEYS) if anchor.unfiltered else structures.next_keys,
        structures=pack(structures.offsets, np.append(structures.shape, -1), plain_offsets, conditional.group_offsets),
        structure_keys=structures.keys,
        plain=plain,
        groups=conditional.groups,
        group_width=conditional.width,
        entry_value=conditional.value,
        entry_upper=conditional.upper,
        entries=conditional.subscription,
        entry_atoms=conditional.atoms,
        atom_code=atom_code,
        atom_value=atom_value,
        shapes=shapes.rows,
        join_steps=shapes.join_steps,
        full_steps=shapes.full_steps,
        answer_of=answer_of,
        word_predicates=_find_word_predicates(items, word_predicate),
    )
    hashes = hash_terms(members.constants)
    term_table = fill_term_table(hashes, _table_size(len(hashes)))
    return Tables(
        index,
        Dictionary(
            pad(list(members.constants)), offsets_of(list(map(len, members.constants))), hashes, term_table, bounds
        ),
        answers,
        RegistrationNumbers.of(members.registrations),
        roles,
    )


def _find_facts(members: MemberArrays, key_terms: I32, shapes: Shapes, word_predicate: int, unfiltered: bool) -> I64:
    """`Index.facts`."""
    always = np.flatnonzero(key_terms[:, 0] == -2)
    words = (constant for constant in members.constants if constant.startswith(_WORD) and constant != _WORD)
    facts = np.zeros(FACT_COUNT, np.int64)
    facts[FACT_ALWAYS] = always[0] if len(always) else -1
    facts[FACT_UNFILTERED] = unfiltered
    facts[FACT_VARIABLES] = shapes.rows[:, SHAPE_VARIABLES].max(initial=0)
    facts[FACT_STEPS] = np.diff(shapes.rows[:, SHAPE_FULL]).max(initial=0)
    facts[FACT_WORDS] = word_predicate
    facts[FACT_PHRASES] = sum(1 << length for length in {word.count(b" ") for word in words})
    facts[FACT_LANGUAGES] = (members.items.atom_code[:, 2] == Lane.LANGUAGE).any()
    return facts


def _find_word_predicates(items: Items, word_predicate: int) -> I32:
    """Find the predicates of patterns whose object is searched for words; -1 for a variable predicate, and if no
    pattern has a searched variable as object."""
    patterns = items.patterns
    searched = patterns[:, 1] == word_predicate
    if word_predicate < 0 or not searched.any():
        return np.zeros(0, np.int32)
    item = np.repeat(np.arange(len(items.offsets) - 1, dtype=np.int64), np.diff(items.offsets))
    wanted = np.unique((item[searched] << 16) - patterns[searched, 0])
    object_of = np.where(patterns[:, 2] < 0, (item << 16) - patterns[:, 2], -1)
    gives = np.isin(object_of, wanted) & ~searched
    predicates = np.unique(np.maximum(patterns[gives, 1], -1))
    if len(np.setdiff1d(wanted, object_of[gives])):
        predicates = np.union1d(predicates, [-1])
    return predicates.astype(np.int32)


def _rank_bounds(members: MemberArrays) -> tuple[I32, Items]:
    """Sort the strings that conditions order by, and replace their ids in the items by ranks (``2 i + 1``)."""
    items = members.items
    ordered = items.atom_code[:, 2] == Lane.STRING_ORDER
    ids = np.unique(items.atom_value[ordered].astype(np.int32))
    texts = [from_ntriples(members.constants[i].decode()).value.encode() for i in ids.tolist()]
    bounds = ids[sorted(range(len(ids)), key=texts.__getitem__)]
    rank = np.zeros(len(members.constants), np.float64)
    rank[bounds] = 2.0 * np.arange(len(bounds)) + 1.0
    value = items.atom_value.copy()
    value[ordered] = rank[items.atom_value[ordered].astype(np.int64)]
    return bounds.astype(np.int32), items._replace(atom_value=value)


def _find_answers(
    members: MemberArrays, items: Items, names: I32, name_offsets: I64
) -> tuple[Answers, I32, tuple[Role | None, ...]]:
    """Make one answer of equal projections, with the new numbers of their variables: (answers, answer of each member,
    role of each answer)."""
    answer_of = np.full(len(members.registrations), -1, np.int32)
    decided = np.flatnonzero(items.verified == 0)
    found: dict[tuple[int, tuple[int, ...]], int] = {}
    projection_of = members.projection_of[items.subscription[decided]]
    for number, projection in enumerate(members.projections):
        chosen = decided[projection_of == number]
        variables = np.array(projection.variables, np.int64)
        columns = names[name_offsets[chosen][:, None] + variables[None, :]]
        distinct, which = np.unique(columns, axis=0, return_inverse=True)
        numbers = [found.setdefault((number, tuple(row)), len(found)) for row in distinct.tolist()]
        answer_of[items.subscription[chosen]] = np.array(numbers, np.int32)[which.reshape(-1)]
    columns_of = [variables for _, variables in found]
    pieces = [
        f"{json.dumps(name, ensure_ascii=False)}:".encode() + b'"'
        for number, _ in found
        for name in members.projections[number].names
    ]
    answers = Answers(
        offsets_of(np.array([len(columns) for columns in columns_of], np.int64)).astype(np.int32),
        np.array([variable for columns in columns_of for variable in columns], np.int32),
        offsets_of(np.array([len(piece) for piece in pieces], np.int64)).astype(np.int32),
        np.frombuffer(bytearray(b"".join(pieces)), np.uint8),
        np.array([members.projections[number].flags for number, _ in found], np.uint8),
    )
    return answers, answer_of, tuple(members.projections[number].role for number, _ in found)


def _file_plain(items: Items, structures: Structures, answer_of: I32) -> tuple[I32, I32]:
    """File subscriptions without conditions by structure, those with the same answer side by side."""
    plain = np.flatnonzero(np.diff(items.atom_offsets) == 0)
    subscription = items.subscription[plain]
    structure = structures.of_item[plain]
    order = np.lexsort((subscription, answer_of[subscription], structure))
    return _count_offsets(structure, len(structures.shape)), subscription[order]


class _Conditional(NamedTuple):
    group_offsets: I32
    groups: I32
    width: NDArray[np.float32]
    value: NDArray[np.float64]
    upper: NDArray[np.float64]
    subscription: I32
    atoms: I32


def _file_entries(
    entries: Entries, atom_code: U8, items: Items, structures: Structures, shapes: Shapes
) -> _Conditional:
    """Group entries by structure and code (`Index.groups`), spans that are not few also by the power of two of their
    width; sort each group by constant."""
    structure = structures.of_item[entries.item]
    code = entries.code.astype(np.int64)
    step = _steps_of_stars(shapes, structures.shape[structure], entries.code[:, 0])
    step[~_compare_one_variable(entries, atom_code)] = 0
    step[(step > 0) & (entries.atoms < 0)] |= STEP_WHOLE
    kind = code[:, 0] | code[:, 1] << GROUP_OPERATOR | code[:, 2] << GROUP_LANE | step << GROUP_STEP
    subscription = items.subscription[entries.item]
    widths = np.where(entries.code[:, 1] >= Comparison.SPAN, entries.upper - entries.value, 0.0)
    _, alike, count = np.unique(structure.astype(np.int64) << 32 | kind, return_inverse=True, return_counts=True)
    width_class = np.where(count[alike] > FEW, np.frexp(widths)[1], 0)
    order = np.lexsort((subscription, entries.value, width_class, kind, structure))
    ranks = np.stack([rank[order].astype(np.int64) for rank in (structure, kind, width_class)], axis=1)
    starts = np.flatnonzero(np.append(True, (ranks[1:] != ranks[:-1]).any(axis=1))[: len(order)])
    width = np.maximum.reduceat(widths[order], starts) if len(starts) else np.zeros(0)
    return _Conditional(
        _count_offsets(structure[order][starts], len(structures.shape)),
        pack(np.append(kind[order][starts], 0), np.append(starts, len(order))),
        np.nextafter(np.minimum(width, MOST_SINGLE).astype(np.float32), np.float32(np.inf)),
        entries.value[order],
        entries.upper[order],
        subscription[order].astype(np.int32),
        entries.atoms[order].astype(np.int32),
    )


def _steps_of_stars(shapes: Shapes, shape: I32, variable: U8) -> I64:
    """Find the step (plus 1) of a decided star or tree whose object alone is the variable; 0 without one."""
    first = shapes.rows[:, SHAPE_JOIN]
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    stars = (shapes.rows[:-1, SHAPE_STAR] != 0) & (shapes.rows[:-1, SHAPE_NECESSARY] == 0)
    step = np.arange(len(owner)) - first[owner] + 1
    names = (owner * (GROUP_BYTE + 1))[:, None] + shapes.join_steps[:, 1:]
    different, uses = np.unique(names[shapes.join_steps[:, 1:] >= 0], return_counts=True)
    alone = np.isin(names[:, 2], different[uses == 1])
    usable = np.flatnonzero(stars[owner] & alone & (shapes.join_steps[:, 3] >= 0) & (step < STEP_WHOLE))
    ends = names[usable, 2]
    order = np.argsort(ends)
    wanted = shape.astype(np.int64) * (GROUP_BYTE + 1) + variable
    if not len(ends):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(ends[order], wanted), len(ends) - 1)
    return np.where(ends[order][at] == wanted, step[usable][order][at], 0)


def _compare_one_variable(entries: Entries, atom_code: U8) -> NDArray[np.bool_]:
    """Tell for each entry whether its condition compares the entry's variable alone."""
    alone = entries.atoms < 0
    if len(atom_code):
        begins = np.flatnonzero(np.append(True, atom_code[:-1, 3] == ENDS))
        variable = atom_code[:, 0]
        single = np.zeros(len(atom_code), bool)
        single[begins] = np.minimum.reduceat(variable, begins) == np.maximum.reduceat(variable, begins)
        alone |= single[entries.atoms] & ~alone
    return alone


def _table_size(entries: int) -> int:
    return 1 << max(3, int(2 * entries - 1).bit_length())


def _count_offsets(numbers: NDArray[np.integer], groups: int) -> I32:
    """[groups + 1] the offsets of the runs of equal numbers, once they are sorted."""
    return offsets_of(np.bincount(numbers, minlength=groups)).astype(np.int32)
