"""Flat subscriptions to the arrays of a segment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.texts import WORD
from triplecast.index.anchors import Anchor, KeyFacts
from triplecast.index.flat import Flat, Role, offsets_of
from triplecast.index.numbers import Registrations
from triplecast.kernels.build import (
    ALWAYS,
    Items,
    canonicalise,
    fill_key_table,
    fill_term_table,
    group_equal_rows,
)
from triplecast.kernels.entries import Entries, make_entries
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
from triplecast.kernels.programs import make_programs
from triplecast.kernels.words import pad
from triplecast.model.conditions import Lane
from triplecast.model.terms import from_ntriples

_WORD = WORD.encode()
MOST_SINGLE = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Tables:
    """A segment's arrays."""

    index: Index
    dictionary: Dictionary
    answers: Answers
    registrations: Registrations
    """[N]; those of several members (`flat.Flat`) as often as they have members."""
    roles: tuple[Role | None, ...]
    """By answer."""


def build_tables(flat: Flat, anchor: Anchor) -> Tables:
    """Builds an index; equal flats give equal bytes."""
    bounds, items = _rank_bounds(flat)
    if anchor.unfiltered:
        items = _with_always(items)
    key_terms, keys = _find_keys(items, anchor)
    name_offsets = offsets_of(items.variables)
    canonical = canonicalise(items, keys, name_offsets)
    shapes = _find_shapes(items, canonical.topology)
    structures = _find_structures(items, canonical.keys, shapes.of_item)
    answers, answer_of, roles = _find_answers(flat, items, canonical.names, name_offsets)
    entries, atom_code, atom_value = make_entries(items, canonical.names, name_offsets)
    plain_offsets, plain = _file_plain(items, structures, answer_of)
    conditional = _file_entries(entries, atom_code, items, structures, shapes)
    _assert_steps(structures.shape, shapes.rows, conditional.group_offsets)
    facts = np.zeros(FACT_COUNT, np.int64)
    always = np.flatnonzero(key_terms[:, 0] == -2)
    facts[FACT_ALWAYS] = always[0] if len(always) else -1
    facts[FACT_UNFILTERED] = anchor.unfiltered
    facts[FACT_VARIABLES] = shapes.rows[:, SHAPE_VARIABLES].max(initial=0)
    facts[FACT_STEPS] = np.diff(shapes.rows[:, SHAPE_FULL]).max(initial=0)
    word_predicate = flat.constants.index(_WORD) if _WORD in flat.constants else -1
    facts[FACT_WORDS] = word_predicate
    facts[FACT_PHRASES] = _phrase_lengths(flat.constants)
    facts[FACT_LANGUAGES] = (items.atom_code[:, 2] == Lane.LANGUAGE).any()
    constant = (key_terms >= 0).astype(np.uint8)
    masks = constant[:, 0] | constant[:, 1] << 1 | constant[:, 2] << 2
    index = Index(
        facts=facts,
        key_table=fill_key_table(key_terms, _table_size(len(key_terms))),
        key_terms=key_terms,
        key_masks=np.unique(masks[key_terms[:, 0] != -2]),
        anchor_offsets=_count_offsets(structures.first_key, len(key_terms)),
        second_keys=structures.first_key if anchor.unfiltered else structures.second_key,
        structures=_pack(
            structures.offsets,
            np.append(structures.shape, -1),
            plain_offsets,
            conditional.group_offsets,
        ),
        structure_keys=structures.keys,
        plain=plain,
        groups=conditional.groups,
        group_width=conditional.width,
        entry_value=conditional.value,
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
    return Tables(index, _make_dictionary(flat.constants, bounds), answers, Registrations.of(flat.registrations), roles)


def _assert_steps(shape_of: I32, shapes: I32, group_offsets: I32) -> None:
    """A structure with conditions has something to compare, so its join has steps: `kernels.join` relies on it."""
    compares = np.diff(group_offsets) > 0
    assert (np.diff(shapes[:, SHAPE_JOIN])[shape_of[compares]] > 0).all()


def _phrase_lengths(constants: tuple[bytes, ...]) -> int:
    """Bit n is set for phrases of n words."""
    lengths = 0
    for length in {constant.count(b" ") for constant in constants if constant.startswith(_WORD) and constant != _WORD}:
        lengths |= 1 << length
    return lengths


def _find_word_predicates(items: Items, word_predicate: int) -> I32:
    """The predicates of the patterns whose object is a variable that words are asked of; -1 stands for a variable
    predicate, and for words of a variable that is no pattern's object."""
    patterns = items.patterns
    asked = patterns[:, 1] == word_predicate
    if word_predicate < 0 or not asked.any():
        return np.zeros(0, np.int32)
    item = np.repeat(np.arange(len(items.offsets) - 1, dtype=np.int64), np.diff(items.offsets))
    wanted = np.unique((item[asked] << 16) - patterns[asked, 0])
    object_of = np.where(patterns[:, 2] < 0, (item << 16) - patterns[:, 2], -1)
    gives = np.isin(object_of, wanted) & ~asked
    predicates = np.unique(np.maximum(patterns[gives, 1], -1))
    if len(np.setdiff1d(wanted, object_of[gives])):
        predicates = np.union1d(predicates, [-1])
    return predicates.astype(np.int32)


def _pack(*columns: NDArray[np.integer]) -> I32:
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int32))


def _rank_bounds(flat: Flat) -> tuple[I32, Items]:
    """The strings that are ordered against, sorted, and the items with ranks (``2 i + 1``) in the place of their
    ids."""
    items = flat.items
    ordered = items.atom_code[:, 2] == Lane.STRING_ORDER
    ids = np.unique(items.atom_value[ordered].astype(np.int32))
    texts = [string_value(flat.constants[i]) for i in ids.tolist()]
    bounds = ids[sorted(range(len(ids)), key=texts.__getitem__)]
    rank = np.zeros(len(flat.constants), np.float64)
    rank[bounds] = 2.0 * np.arange(len(bounds)) + 1.0
    value = items.atom_value.copy()
    value[ordered] = rank[items.atom_value[ordered].astype(np.int64)]
    return bounds.astype(np.int32), items._replace(atom_value=value)


def string_value(constant: bytes) -> bytes:
    """The UTF-8 text of a string literal, which orders by code point."""
    literal = from_ntriples(constant.decode())
    return literal.value.encode()


def _with_always(items: Items) -> Items:
    """Every item with the pattern that every publication has before its own."""
    sizes = np.diff(items.offsets)
    offsets = items.offsets + np.arange(len(items.offsets))
    patterns = np.full((offsets[-1], 3), ALWAYS, np.int32)
    own = np.ones(offsets[-1], bool)
    own[offsets[:-1]] = False
    patterns[own] = items.patterns
    assert own.sum() == sizes.sum()
    return items._replace(offsets=offsets, patterns=patterns)


def _find_keys(items: Items, anchor: Anchor) -> tuple[I32, I32]:
    """(terms of each key, key of each pattern), keys numbered in the anchor's order."""
    masked = np.where(items.patterns >= 0, items.patterns, -1).astype(np.int32)
    masked[items.patterns[:, 0] == ALWAYS] = -2
    number, first = group_equal_rows(np.arange(len(masked) + 1, dtype=np.int64) * 3, masked.reshape(-1))
    terms = masked[first]
    uses = np.bincount(number, minlength=len(first)).astype(np.int64)
    order = anchor.rank(KeyFacts(terms, uses))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(terms[order]), rank[number]


class _Shapes(NamedTuple):
    of_item: I32
    rows: I32
    """`Index.shapes`."""
    join_steps: I32
    full_steps: I32


def _find_shapes(items: Items, topology: I32) -> _Shapes:
    offsets = 3 * items.offsets + np.arange(len(items.offsets))
    number, first = group_equal_rows(offsets, topology)
    join, _ = make_programs(offsets, topology, first, False)
    full, variables = make_programs(offsets, topology, first, True)
    verified, stars = np.append(items.verified[first], 0), np.append(join.stars, 0)
    rows = _pack(verified, np.append(variables, 0), join.offsets, full.offsets, stars)
    return _Shapes(number, rows, join.steps, full.steps)


class _Structures(NamedTuple):
    of_item: I32
    offsets: I32
    keys: I32
    shape: I32
    first_key: I32
    second_key: I32


def _find_structures(items: Items, keys: I32, shape_of_item: I32) -> _Structures:
    """Items with equal keys and shape share a structure; structures are sorted by their first three keys."""
    count = len(items.subscription)
    offsets = items.offsets + np.arange(count + 1)
    cells = np.empty(int(offsets[-1]), np.int32)
    heads = np.zeros(len(cells), bool)
    heads[offsets[:-1]] = True
    cells[heads] = shape_of_item
    cells[~heads] = keys
    number, first = group_equal_rows(offsets, cells)
    sizes = np.diff(items.offsets)[first]
    starts = items.offsets[:-1][first]
    leading = [_key_at(keys, starts, sizes, place) for place in range(3)]
    order = np.lexsort((first, leading[2], leading[1], leading[0]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    structure_offsets = offsets_of(sizes[order]).astype(np.int32)
    rows = np.repeat(starts[order] - structure_offsets[:-1], sizes[order]) + np.arange(structure_offsets[-1])
    return _Structures(
        rank[number],
        structure_offsets,
        keys[rows],
        shape_of_item[first][order],
        leading[0][order],
        np.where(leading[1] >= 0, leading[1], leading[0])[order],
    )


def _key_at(keys: I32, starts: I64, sizes: I64, place: int) -> I32:
    """The key at a place of each item, -1 beyond its end."""
    if not len(keys):
        return np.zeros(0, np.int32)
    at = np.minimum(starts + place, len(keys) - 1)
    return np.where(sizes > place, keys[at], -1).astype(np.int32)


def _find_answers(
    flat: Flat, items: Items, names: I32, name_offsets: I64
) -> tuple[Answers, I32, tuple[Role | None, ...]]:
    """Projections with the new numbers of their variables, equal ones as one answer; the answer of each member; the
    role of each answer."""
    answer_of = np.full(len(flat.registrations), -1, np.int32)
    decided = np.flatnonzero(items.verified == 0)
    found: dict[tuple[int, tuple[int, ...]], int] = {}
    projection_of = flat.projection_of[items.subscription[decided]]
    for number, projection in enumerate(flat.projections):
        members = decided[projection_of == number]
        variables = np.array(projection.variables, np.int64)
        columns = names[name_offsets[members][:, None] + variables[None, :]]
        distinct, which = np.unique(columns, axis=0, return_inverse=True)
        numbers = [found.setdefault((number, tuple(row)), len(found)) for row in distinct.tolist()]
        answer_of[items.subscription[members]] = np.array(numbers, np.int32)[which.reshape(-1)]
    columns_of = [variables for _, variables in found]
    pieces = [
        f"{json.dumps(name, ensure_ascii=False)}:".encode() + b'"'
        for number, _ in found
        for name in flat.projections[number].names
    ]
    answers = Answers(
        offsets_of(np.array([len(columns) for columns in columns_of], np.int64)).astype(np.int32),
        np.array([variable for columns in columns_of for variable in columns], np.int32),
        offsets_of(np.array([len(piece) for piece in pieces], np.int64)).astype(np.int32),
        np.frombuffer(bytearray(b"".join(pieces)), np.uint8),
        np.array([flat.projections[number].flags for number, _ in found], np.uint8),
    )
    return answers, answer_of, tuple(flat.projections[number].role for number, _ in found)


def _file_plain(items: Items, structures: _Structures, answer_of: I32) -> tuple[I32, I32]:
    """Subscriptions without conditions by structure; those with one answer stand together."""
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
    subscription: I32
    atoms: I32


def _file_entries(
    entries: Entries, atom_code: U8, items: Items, structures: _Structures, shapes: _Shapes
) -> _Conditional:
    """Entries in groups of one structure and one code (`Index.groups`), windows also of one power of two of their
    width; sorted by constant."""
    structure = structures.of_item[entries.item]
    width_class = np.frexp(entries.width)[1]
    code = entries.code.astype(np.int64)
    step = _steps_of_stars(shapes, structures.shape[structure], entries.code[:, 0])
    step[~_compare_one_variable(entries, atom_code)] = 0
    step[(step > 0) & (entries.atoms < 0)] |= STEP_WHOLE
    kind = code[:, 0] | code[:, 1] << GROUP_OPERATOR | code[:, 2] << GROUP_LANE | step << GROUP_STEP
    subscription = items.subscription[entries.item]
    order = np.lexsort((subscription, entries.value, width_class, kind, structure))
    ranks = np.stack([rank[order].astype(np.int64) for rank in (structure, kind, width_class)], axis=1)
    first = np.ones(len(order), bool)
    first[1:] = (ranks[1:] != ranks[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    width = np.maximum.reduceat(entries.width[order], starts) if len(starts) else np.zeros(0)
    return _Conditional(
        _count_offsets(structure[order][starts], len(structures.shape)),
        _pack(np.append(kind[order][starts], 0), np.append(starts, len(order))),
        np.nextafter(np.minimum(width, MOST_SINGLE).astype(np.float32), np.float32(np.inf)),
        entries.value[order],
        subscription[order].astype(np.int32),
        entries.atoms[order].astype(np.int32),
    )


def _steps_of_stars(shapes: _Shapes, shape: I32, variable: U8) -> I64:
    """1 + the step of a decided star or tree that has the variable as object, 0 without, and where another step has it
    too."""
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
    """Of each entry, whether its condition compares no variable but the entry's."""
    alone = entries.atoms < 0
    if len(atom_code):
        begins = np.flatnonzero(np.append(True, atom_code[:-1, 3] == ENDS))
        variable = atom_code[:, 0]
        single = np.zeros(len(atom_code), bool)
        single[begins] = np.minimum.reduceat(variable, begins) == np.maximum.reduceat(variable, begins)
        alone |= single[entries.atoms] & ~alone
    return alone


def _make_dictionary(constants: tuple[bytes, ...], bounds: I32) -> Dictionary:
    hashes = hash_terms(constants)
    offsets = offsets_of(np.fromiter(map(len, constants), np.int64, len(constants)))
    return Dictionary(
        pad(list(constants)), offsets, hashes, fill_term_table(hashes, _table_size(len(constants))), bounds
    )


def _table_size(entries: int) -> int:
    return 1 << max(3, int(2 * entries - 1).bit_length())


def _count_offsets(numbers: NDArray[np.integer], groups: int) -> I32:
    """[groups + 1] offsets of runs of equal numbers once sorted."""
    return offsets_of(np.bincount(numbers, minlength=groups)).astype(np.int32)
