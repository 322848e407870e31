"""The arrays of an index segment and of a publication batch, as the kernels see them.

Numbers: *term* of a batch: batch-global, ``term_offsets[publication] + local number``; *id*: of a constant in one segment's dictionary,
-1 for a term that no subscription mentions; *key*: a triple with constants at some places; *structure*: sorted keys with the
topology of their variables; *entry*: one atom under which a subscription hangs off a structure. A *view* is one publication,
or one part of a dataset publication, matched as a unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import inlined

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
F64 = NDArray[np.float64]


class Dictionary(NamedTuple):
    """The constants of a segment: ``text[offsets[id]:offsets[id + 1]]`` (padded text), found through an open-addressing `table`
    of ids (-1: empty) by the top bits of the hash and always verified by bytes."""

    text: U8
    offsets: I64
    hashes: U64
    table: I32
    bounds: I32
    """Ids of the strings that subscriptions order against, ascending by code point."""


class Index(NamedTuple):
    """Structures under their anchors. All offsets arrays have one entry more than what they delimit."""

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
    structure_second: I32
    """The second key, -1 without: tested before anything else of a structure is read."""
    structure_offsets: I32
    structure_keys: I32
    structure_shape: I32
    plain_offsets: I32
    """[S + 1] into `plain`: subscriptions without conditions."""
    plain: I32
    group_offsets: I32
    """[S + 1] condition groups of a structure."""
    group_code: U8
    """[G, 3] variable, operator, lane."""
    group_start: I32
    group_width: F64
    """Of a `WINDOW` group: its widest window."""
    entry_value: F64
    """Ascending within a group."""
    entry_subscription: I32
    entry_atoms: I32
    """[E] first atom of the subscription's whole condition in conjunctive form; -1 when the entry's own atom is all of it."""
    atom_code: U8
    """[A, 4] variable, operator, lane, and 1 if the next atom belongs to the same clause, 2 after the condition's last atom."""
    atom_value: F64
    shape_verified: U8
    """[H] 1: the structure is a necessary condition only."""
    shape_variables: I32
    join_offsets: I32
    """[H + 1] steps that decide existence: patterns whose variables are shared, repeated or compared."""
    join_pattern: I32
    join_variables: I32
    """[steps, 3] variable numbers, -1 where nothing has to be remembered."""
    full_offsets: I32
    """[H + 1] steps over all patterns that have variables, for bindings."""
    full_pattern: I32
    full_variables: I32
    answer_of: I32
    """[N] how a subscription's bindings are written, -1 when the evaluator decides it."""


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
FACT_COUNT = 8


class Answers(NamedTuple):
    """How bindings are written: answer a has columns ``offsets[a]:offsets[a + 1]``, sorted by name."""

    offsets: I32
    variable: I32
    name_offsets: I32
    names: U8
    """``"name":"`` of each column, in JSON."""
    flags: U8
    """[A] 1: DISTINCT, 2: ASK."""


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
    terms: I32
    """[T, 3] batch-global term numbers."""
    ids: I32
    """[T, 3] their dictionary ids, -1 unknown."""
    values: TermValues


class TermValues(NamedTuple):
    """What conditions see, by batch-global term number."""

    identity: I32
    """Dictionary id, -1 unknown."""
    value_class: U8
    number: F64
    tie: NDArray[np.int8]
    rank: F64
    """Of a string among the segment's `bounds`: ``2 i + 1`` equals bound i, even numbers lie between. Empty when unused."""
    language: I32
    """Dictionary id of the tag as a string, -1 unknown, -2 for what is no literal. Empty when unused."""


CONTINUES = 1
"""In the fourth column of `atom_code`."""
ENDS = 2


@inlined
def hash_key(subject: int, predicate: int, end: int) -> np.uint64:
    mixed = (
        np.uint64(np.uint32(subject)) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(np.uint32(predicate)) * np.uint64(0xC2B2AE3D27D4EB4F)
        + np.uint64(np.uint32(end)) * np.uint64(0x165667B19E3779F9)
    )
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))
