"""The arrays of an index segment and of a batch of publications, as the kernels see them.

Numbers: a *term* of a batch is batch-global, ``term_offsets[publication] + local number``; an *id* is a constant's in
one segment's dictionary, -1 for a term that no subscription of it mentions; a *key* is a triple with constants at some
places; a *structure* is sorted keys with the topology of their variables; an *entry* is one comparison under which a
subscription hangs off a structure; a *view* is one publication, or one part of a dataset publication, matched as a
unit.

Columns that are read together are in one array. Passing arrays, also in a `NamedTuple`, costs numba an atomic
reference count for each (14 % of all matching, measured), so what is called once per view or more is `borrowing` or
`inlined`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import inlined

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
F64 = NDArray[np.float64]
Integer: TypeAlias = int | np.integer[Any]


class Dictionary(NamedTuple):
    """The constants of a segment: ``text[offsets[id]:offsets[id + 1]]`` (padded text), found through an open-addressing
    `table` of ids (-1: empty) by the hash and always verified by bytes."""

    text: U8
    offsets: I64
    hashes: U64
    table: I32
    bounds: I32
    """Ids of the strings that subscriptions order against, ascending by code point."""


class Index(NamedTuple):
    """Structures under their anchors. Where a row says "first", the next row's says where it ends; such arrays have one
    row more than there are things."""

    facts: I64
    """See the ``FACT_`` constants."""
    key_table: U64
    """Open addressing: ``tag << 32 | key + 1``, 0 empty; `key_terms` decides."""
    key_terms: I32
    """[K, 3] dictionary ids, -1 for a variable; -2 thrice for the key that every view has."""
    key_masks: U8
    """Which places are constant (1 subject, 2 predicate, 4 object), each mask that occurs once, ascending."""
    anchor_offsets: I32
    """[K + 1] structures by anchor key: structures are sorted by it."""
    next_keys: U32
    """[S] two places of `Hits.presence`, that of the third key ``<< 16``: those of the structure's next keys, looked at
    before anything else of it is read (`find_place`). `NO_KEY` where there is none, and in an index without the
    filter."""
    structures: I32
    """[S + 1, 4] the ``STRUCTURE_`` columns."""
    structure_keys: I32
    """Ascending within a structure."""
    plain: I32
    """Subscriptions without conditions, by structure."""
    groups: I32
    """[G + 1, 2] code (see `GROUP_OPERATOR`), first entry."""
    group_width: NDArray[np.float32]
    """[G] of a group of spans: none of it is wider."""
    entry_value: F64
    """[E] ascending within a group; of a span its lower bound, NaN without."""
    entry_upper: F64
    """[E] the upper bound of a span, NaN without. In groups of more than `conditions.FEW`, spans have both."""
    entries: I32
    """[E] the subscription of each."""
    entry_atoms: I32
    """[E] the first atom of its whole condition in conjunctive form, -1 when the entry's own comparison is all."""
    atom_code: U8
    """[A, 4] variable, operator, lane, and `CONTINUES` if the next atom belongs to the same clause, `ENDS` after the
    last."""
    atom_value: F64
    shapes: I32
    """[H + 1, 5] the ``SHAPE_`` columns."""
    join_steps: I32
    """[·, 4] pattern, and variable or -1 at each place: the steps that decide existence, of patterns whose variables
    are shared, repeated or compared; other variables are left out but for subjects."""
    full_steps: I32
    """As `join_steps`, of all patterns that have variables, for bindings."""
    answer_of: I32
    """[N] how a subscription's bindings are written, -1 when the evaluator decides it."""
    word_predicates: I32
    """Ids of the predicates whose literals are cut into words, ascending; -1: of all predicates."""


PLACES = 1 << 13
"""Of keys in `Hits.presence`, each with its subjects; behind them as many places that say whether it is there at all;
then `NO_KEY`, which always is."""
NO_KEY = 2 * PLACES
NO_KEYS = NO_KEY << 16 | NO_KEY

FACT_ALWAYS = 0
"""The key that every view has, or -1."""
FACT_UNFILTERED = 1
"""1: structures are tried without looking whether all their keys are present (the oracle of the filter)."""
FACT_VARIABLES = 2
"""The most variables of a shape."""
FACT_STEPS = 3
"""The most steps of a shape."""
FACT_LANGUAGES = 4
"""1 when a condition looks at language tags."""
FACT_WORDS = 5
"""The id of the predicate of word triples (`wordbank`), or -1."""
FACT_PHRASES = 6
"""Bit n: the dictionary holds phrases of n words."""
FACT_COUNT = 8

STRUCTURE_KEYS = 0
"""First in `structure_keys`."""
STRUCTURE_SHAPE = 1
STRUCTURE_PLAIN = 2
"""First in `plain`."""
STRUCTURE_GROUPS = 3
"""First in `groups`."""

GROUP_BYTE = 0xFF
GROUP_OPERATOR = 8
GROUP_LANE = 16
GROUP_STEP = 24
"""Where the operator, the lane and the step begin in the code of a group, a byte each; the variable is the lowest byte.

The step is that of a star or tree whose object is the variable, plus 1, where nothing else is compared in the
conditions of the group and the index decides its subscriptions; else 0. `STEP_WHOLE` is added where the entries have no
further atoms."""
STEP_WHOLE = 64

SHAPE_NECESSARY = 0
"""1: the structure is a necessary condition only."""
SHAPE_VARIABLES = 1
SHAPE_JOIN = 2
"""First in `join_steps`."""
SHAPE_FULL = 3
"""First in `full_steps`."""
SHAPE_STAR = 4
"""`STAR` or `TREE` if the `join_steps` can be decided without a join, else 0."""
STAR = 1
"""They have one subject variable and share nothing else: there is a solution iff they have a subject in common."""
TREE = 2
"""They share subject variables only, which some have as objects, and each step has one variable in common with those
before it: there is a solution iff narrowing each variable to the terms that its steps allow, from the last step to the
first, leaves some."""

CONTINUES = 1
ENDS = 2


class Answers(NamedTuple):
    """How bindings are written: answer a has columns ``offsets[a]:offsets[a + 1]``, sorted by name."""

    offsets: I32
    variable: I32
    name_offsets: I32
    names: U8
    """``"name":"`` of each column, in JSON."""
    flags: U8
    """[A] `DISTINCT_FLAG`, `ASK_FLAG`."""


DISTINCT_FLAG = 1
ASK_FLAG = 2


class Encoded(NamedTuple):
    """A batch against one segment."""

    view_offsets: I64
    """[V + 1] triples of a view."""
    view_terms: I64
    """[V, 2] first term of its publication, and how many it has."""
    view_mode: U8
    """[V] 0: all structures, 1: decided ones only, 2: verified ones only."""
    triples: I32
    """[T, `TRIPLE_COLUMNS`] batch-global term numbers, then their dictionary ids, -1 unknown, then `LOOKUPS`; only
    triples that some key may have."""
    values: F64
    """[L, 3] by term, the ``VALUE_`` columns."""
    identity: I32
    """[L] dictionary id, -1 unknown."""
    extras: F64
    """[L, 2] the ``EXTRA_`` columns; no rows when no condition of the segment looks at them."""


LOOKUPS = 6
"""Bit m: a key may have the triple's terms at the places of mask m (`key_masks`). A word triple has one bit."""
TRIPLE_COLUMNS = 7
VALUE_CLASS = 0
VALUE_NUMBER = 1
VALUE_EXACT = 2
"""The number, moved to the next double on the side of the exact value where that needs more digits."""
EXTRA_RANK = 0
"""Of a string among the segment's `bounds`: ``2 i + 1`` equals bound i, even numbers lie between; NaN for other
terms."""
EXTRA_LANGUAGE = 1
"""Dictionary id of a literal's tag as a string, -1 unknown; -2 for what is no literal."""


@inlined
def read_code(code: int) -> tuple[int, int, int]:
    """Split the code of a group into variable, operator and lane."""
    return code & GROUP_BYTE, (code >> GROUP_OPERATOR) & GROUP_BYTE, (code >> GROUP_LANE) & GROUP_BYTE


@inlined
def hash_key(subject: Integer, predicate: Integer, end: Integer) -> np.uint64:
    mixed = (
        np.uint64(np.uint32(subject)) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(np.uint32(predicate)) * np.uint64(0xC2B2AE3D27D4EB4F)
        + np.uint64(np.uint32(end)) * np.uint64(0x165667B19E3779F9)
    )
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


@inlined
def find_place(key: Integer) -> np.uint64:
    """The place of a key among `PLACES`; others may have it too."""
    return (np.uint64(np.uint32(key)) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(51)


def empty_index() -> Index:
    """An index of nothing, of the exact types of production: kernels are compiled on it."""
    return Index(
        facts=np.full(FACT_COUNT, -1, np.int64),
        key_table=np.zeros(8, np.uint64),
        key_terms=np.zeros((0, 3), np.int32),
        key_masks=np.zeros(0, np.uint8),
        anchor_offsets=np.zeros(1, np.int32),
        next_keys=np.zeros(0, np.uint32),
        structures=np.zeros((1, 4), np.int32),
        structure_keys=np.zeros(0, np.int32),
        plain=np.zeros(0, np.int32),
        groups=np.zeros((1, 2), np.int32),
        group_width=np.zeros(0, np.float32),
        entry_value=np.zeros(0, np.float64),
        entry_upper=np.zeros(0, np.float64),
        entries=np.zeros(0, np.int32),
        entry_atoms=np.zeros(0, np.int32),
        atom_code=np.zeros((0, 4), np.uint8),
        atom_value=np.zeros(0, np.float64),
        shapes=np.zeros((1, 5), np.int32),
        join_steps=np.zeros((0, 4), np.int32),
        full_steps=np.zeros((0, 4), np.int32),
        answer_of=np.zeros(0, np.int32),
        word_predicates=np.zeros(0, np.int32),
    )


def empty_answers() -> Answers:
    return Answers(
        np.zeros(1, np.int32),
        np.zeros(0, np.int32),
        np.zeros(1, np.int32),
        np.zeros(0, np.uint8),
        np.zeros(0, np.uint8),
    )


def empty_encoded() -> Encoded:
    return Encoded(
        np.zeros(1, np.int64),
        np.zeros((0, 2), np.int64),
        np.zeros(0, np.uint8),
        np.zeros((0, TRIPLE_COLUMNS), np.int32),
        np.zeros((0, 3), np.float64),
        np.zeros(0, np.int32),
        np.zeros((0, 2), np.float64),
    )
