"""The engine's kernels as plain Python, counting their steps: one for each thing touched.

The compiled kernels count keys, structures and joins only (`MatchStats`). Here the very same functions run uncompiled,
with the names that they call replaced by ones that count; what they find is what the compiled ones find
(``tests/experiments/test_metered.py``, where a hand-made index is counted by hand too). Nothing is added to a kernel
for this, so nothing is slower for it. Left out, as of the papers' algorithms: reading the publication, and writing and
sorting what was found. What is done twice counts twice: of a structure with many
patterns, keys are looked up again for bindings. Left out too: of few patterns, the triples read for their bindings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.steps import cut_views_texts, encode
from triplecast.index import Segment
from triplecast.kernels import conditions, join, layout, probe, rows, runs, trees, walk
from triplecast.kernels.layout import FACT_PHRASES, I32
from triplecast.kernels.runs import MatchedRuns
from triplecast.kernels.sheets import SheetLimits, Sheets
from triplecast.kernels.wordbank import WordBank
from triplecast.match.segment import ALL, EVERYTHING, Scratch
from triplecast.match.views import scan_views
from triplecast.model.match import PAIR_BYTES
from triplecast.model.publication import Publication

TERMS = "terms looked up"
"""In the dictionary: every term of the publication."""
LOOKUPS = "look-ups"
"""Keys that a publication's triples could have, hashed and looked for."""
LOOKUPS_AGAIN = "look-ups for bindings"
"""The same once more, of a publication that something matched."""
KEYS = "keys"
"""Those found, each with its chain of triples."""
STRUCTURES = "structures"
"""Filed under the keys found: the engine's postings."""
TESTS = "presence tests"
"""Of one key in the publication's bitset."""
SLOTS = "slots"
"""Of the publication's own keys: looked up to file a triple, or for a step's chain."""
TRIES = "triples tried"
"""In joins, in the narrowing of trees, for conditions of stars and for bindings: the engine's join steps."""
LINKED = "triples linked"
"""Filed by their ends, where chains are long."""
ENTRIES = "constraint entries"
"""Of sorted constants: those that halving looks at, and those of the range found, one that ends it included."""
ATOMS = "constraint checks"
"""Comparisons of whole conditions, one by one."""
WORDS = "words looked up"
"""Of literals, and phrases of a length in use: each is looked for in the dictionary."""

_TWINS = (layout, conditions, probe, runs, walk, trees, join, rows)
"""In the order of their imports."""
_COMPILED = {"hash_key", "_queue_lookups"}
"""Stay compiled: their work is counted otherwise (`_count_probe`). So does the sorting of rows."""

Kernel = Callable[..., Any]


class Metered(NamedTuple):
    """What the uncompiled kernels found, and their work."""

    matched: MatchedRuns
    sheets: Sheets
    work: Counter[str]


def count_work(segments: Iterable[Segment], publications: Sequence[Publication]) -> dict[str, float]:
    """The engine's steps per publication, by kind."""
    work: Counter[str] = Counter()
    for segment in segments:
        for publication in publications:
            work += meter(segment, [publication]).work
    return {kind: count / len(publications) for kind, count in sorted(work.items())}


def meter(segment: Segment, publications: Sequence[Publication]) -> Metered:
    """Matches a batch without a taxonomy against one segment."""
    views = scan_views(publications)
    bank = cut_views_texts(segment, views)
    encoded = encode(segment, views)
    index = segment.tables.index
    work: Counter[str] = Counter({TERMS: len(views.terms.start)})
    scratch = Scratch(segment)
    if segment.uses_words:
        work[WORDS] += _count_words(bank, int(index.facts[FACT_PHRASES]))
    kernels = _make_twins(work)
    with np.errstate(over="ignore"):
        matched = kernels["match_views"](index, encoded, scratch.work, 1 << 62)
        looked_up = work[LOOKUPS]
        limits = SheetLimits(EVERYTHING, PAIR_BYTES, scratch.weight, ALL)
        given = index, segment.tables.answers, encoded, matched, views.terms, limits, scratch.work
        sheets = kernels["collect_sheets"](*given)
    work[LOOKUPS_AGAIN] = work[LOOKUPS] - looked_up
    work[LOOKUPS] = looked_up
    work[KEYS] += int(matched.counts[0])
    work[STRUCTURES] += int(matched.counts[1])
    work = +work
    return Metered(matched, sheets, work)


def _count_words(bank: WordBank, phrases: int) -> int:
    """Words and phrases of the literals that were cut; bit n of `phrases`: those of n words are looked for."""
    sizes = bank.sizes[bank.sizes > 0]
    return sum(int(np.maximum(sizes - n + 1, 0).sum()) for n in range(1, phrases.bit_length()) if phrases >> n & 1)


def _make_twins(work: Counter[str]) -> Mapping[str, Kernel]:
    """Uncompiled twins of the kernels by name, that add to `work`."""
    twins: dict[str, Kernel] = {"prefetch": lambda *_: None, "copy_numbers": _copy_numbers}
    for module in _TWINS:
        names = dict(vars(module)) | twins
        for name, kernel in _kernels_of(module):
            twin: Kernel = FunctionType(kernel.__code__, names, name)
            twins[name] = names[name] = _add_count(twin, work, _COUNTS[name]) if name in _COUNTS else twin
    return twins


def _copy_numbers(target: I32, at: int, source: I32, first: int, count: int) -> None:
    target[at : at + count] = source[first : first + count]


def _kernels_of(module: ModuleType) -> list[tuple[str, FunctionType]]:
    """The compiled functions that a module defines, as they were before."""
    return [
        (name, found.py_func)
        for name, found in vars(module).items()
        if hasattr(found, "py_func") and found.py_func.__module__ == module.__name__ and name not in _COMPILED
    ]


Count = Callable[[Sequence[Any], Any], Mapping[str, int]]
"""What a call with these arguments touched, given its result and before anything else runs."""


def _add_count(kernel: Kernel, work: Counter[str], count: Count) -> Kernel:
    def count_call(*arguments: Any) -> Any:
        found = kernel(*arguments)
        work.update(count(arguments, found))
        return found

    return count_call


def _count_one(kind: str) -> Count:
    return lambda arguments, found: {kind: 1}


def _count_probe(arguments: Sequence[Any], _: Any) -> Mapping[str, int]:
    """The kernel leaves its look-ups in scratch; they are queued once more to be counted."""
    index, encoded, view, hits = arguments
    triples = encoded.triples[encoded.view_offsets[view] : encoded.view_offsets[view + 1]]
    queued = probe._queue_lookups(triples, index.key_table, index.key_terms, hits.hashes, hits.loaded, hits.origin)
    return {LOOKUPS: int(queued)}


def _count_spent(arguments: Sequence[Any], after: walk.Walk) -> Mapping[str, int]:
    """A walk's budget falls by one for each triple that it tries."""
    return {TRIES: int(arguments[0].budget - after.budget)}


def _count_halvings(arguments: Sequence[Any], _: Any) -> Mapping[str, int]:
    _, start, end, *_ = arguments
    return {ENTRIES: int(end - start).bit_length()}


def _count_range(arguments: Sequence[Any], found: tuple[int, int]) -> Mapping[str, int]:
    """Those of the range, and the one that ends it where it is walked to its end."""
    how, number, _, operator, _, _, end, _ = arguments
    low, high = found
    walked = operator == conditions.EQUAL and how in (conditions.BY_NUMBER, conditions.BY_SINGLE)
    return {ENTRIES: int(high - low) + int(walked and number == number and high < end)}


def _count_chain(chain: I32, hit: int) -> int:
    length = 0
    while hit >= 0:
        hit = chain[hit, 1]
        length += 1
    return length


def _count_narrowed(arguments: Sequence[Any], _: Any) -> Mapping[str, int]:
    _, _, hits, hit, *_ = arguments
    return {TRIES: _count_chain(hits.chain, hit)}


def _count_star(arguments: Sequence[Any], _: Any) -> Mapping[str, int]:
    """The triples of each group's step."""
    index, _, _, hits, (_, structure, _), (state, _), *_ = arguments
    first, last = index.structures[structure : structure + 2, layout.STRUCTURE_GROUPS]
    steps = [(int(code) >> layout.GROUP_STEP) & (layout.STEP_WHOLE - 1) for code in index.groups[first:last, 0]]
    return {TRIES: sum(_count_chain(hits.chain, state[step - 1, walk.HEAD]) for step in steps if step)}


_COUNTS: Mapping[str, Count] = {
    "probe": _count_probe,
    "has_key": _count_one(TESTS),
    "may_join": _count_one(TESTS),
    "find_slot": _count_one(SLOTS),
    "advance": _count_spent,
    "_narrow": _count_narrowed,
    "write_star": _count_star,
    "link_ends": lambda arguments, _: {LINKED: int(arguments[2] - arguments[1])},
    "_first_from": _count_halvings,
    "_first_beyond": _count_halvings,
    "narrow_range": _count_range,
    "holds": _count_one(ATOMS),
}
"""What each of them touches by itself: `compares` is called for an entry or an atom that is counted."""
