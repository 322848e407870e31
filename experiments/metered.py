"""The engine's kernels as plain Python, counting their steps: the engine's counted work, exactly.

The compiled kernels count keys, structures and joins only (`MatchStats`). Here the very same functions run uncompiled,
with the names that they call replaced by ones that count; what they find is what the compiled ones find
(``tests/experiments/test_metered.py``). Nothing is added to a kernel for this, so nothing is slower for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from triplecast.index import Segment
from triplecast.kernels import conditions, join, layout, probe, rows, walk
from triplecast.kernels.join import Matched, make_work
from triplecast.kernels.layout import FACT_PHRASES, Encoded, Index
from triplecast.kernels.probe import Hits, make_hits
from triplecast.kernels.rows import Sheets
from triplecast.kernels.wordbank import WordBank
from triplecast.match.views import cut_views_texts, encode, find_identity, scan_views
from triplecast.model.publication import Publication

LOOKUPS = "look-ups"
"""Keys that a publication's triples could have, hashed and looked for."""
KEYS = "keys"
"""Those found, each with its chain of triples."""
STRUCTURES = "structures"
"""Filed under the keys found: the engine's postings."""
TESTS = "presence tests"
"""Of one key in the publication's bitset."""
TRIES = "triples tried"
"""In joins, for existence and for bindings: the engine's join steps."""
CHECKS = "constraint checks"
"""Ranges looked up among sorted constants, and comparisons made one by one."""
WORDS = "words looked up"
"""Of literals, and phrases of a length in use: each is looked for in the dictionary."""
MATCHES = "matches"
"""Written."""

_TWINS = (layout, conditions, probe, walk, join, rows)
"""In the order of their imports."""
_COMPILED = {"hash_key", "_queue_lookups", "_rank_terms", "_sort_rows"}
"""Stay compiled: their work is counted otherwise (the first two, see `_count_lookups`), or is the sorting of rows."""


class Metered(NamedTuple):
    """What the uncompiled kernels found, and their work."""

    matched: Matched
    sheets: Sheets
    work: Counter[str]


def count_work(segments: Iterable[Segment], publications: Sequence[Publication]) -> dict[str, float]:
    """The engine's steps per publication, by kind."""
    work: Counter[str] = Counter()
    for segment in segments:
        for publication in publications:
            work += meter(segment, [publication]).work
    return {kind: count / len(publications) for kind, count in work.items()}


def meter(segment: Segment, publications: Sequence[Publication]) -> Metered:
    """Matches a batch without a taxonomy against one segment."""
    views = scan_views(publications)
    bank = cut_views_texts(segment, views, find_identity(segment, views.terms))
    encoded = encode(segment, views)
    index = segment.tables.index
    work: Counter[str] = Counter()
    if segment.uses_words:
        work[WORDS] += _count_words(bank, int(index.facts[FACT_PHRASES]))
    kernels = _make_twins(work)
    with np.errstate(over="ignore"):
        matched = kernels["match_views"](index, encoded, make_work(segment.members), make_hits(index, encoded))
        sheets = kernels["collect_sheets"](
            index, segment.tables.answers, encoded, matched, make_hits(index, encoded), views.terms
        )
    work[KEYS] += int(matched.counts[0])
    work[STRUCTURES] += int(matched.counts[1])
    work[MATCHES] += len(matched.subscription)
    return Metered(matched, sheets, work)


def _count_words(bank: WordBank, phrases: int) -> int:
    """Words and phrases of the literals that were cut; bit n of `phrases`: those of n words are looked for."""
    sizes = bank.sizes[bank.sizes > 0]
    return sum(int(np.maximum(sizes - n + 1, 0).sum()) for n in range(1, phrases.bit_length()) if phrases >> n & 1)


def _make_twins(work: Counter[str]) -> Mapping[str, Callable[..., Any]]:
    """Uncompiled twins of the kernels by name, that add to `work`."""
    twins: dict[str, Callable[..., Any]] = {"prefetch": lambda *_: None}
    for module in _TWINS:
        names = dict(vars(module)) | twins
        for name, kernel in _kernels_of(module):
            twin: Callable[..., Any] = FunctionType(kernel.__code__, names, name)
            twins[name] = names[name] = _COUNTED.get(name, _uncounted)(twin, work)
    return twins


def _kernels_of(module: ModuleType) -> list[tuple[str, FunctionType]]:
    """The compiled functions that a module defines, as they were before."""
    return [
        (name, found.py_func)
        for name, found in vars(module).items()
        if hasattr(found, "py_func") and found.py_func.__module__ == module.__name__ and name not in _COMPILED
    ]


def _uncounted(kernel: Callable[..., Any], _: Counter[str]) -> Callable[..., Any]:
    return kernel


def _count_calls(kind: str) -> Callable[[Callable[..., Any], Counter[str]], Callable[..., Any]]:
    def counted(kernel: Callable[..., Any], work: Counter[str]) -> Callable[..., Any]:
        def count_call(*arguments: Any) -> Any:
            work[kind] += 1
            return kernel(*arguments)

        return count_call

    return counted


def _count_tries(advance: Callable[..., Any], work: Counter[str]) -> Callable[..., Any]:
    """A walk's budget falls by one for each triple that it tries."""

    def count_spent(before: walk.Walk, *arguments: Any) -> walk.Walk:
        after: walk.Walk = advance(before, *arguments)
        work[TRIES] += int(before.budget - after.budget)
        return after

    return count_spent


def _count_lookups(kernel: Callable[..., Any], work: Counter[str]) -> Callable[..., Any]:
    def count_queued(index: Index, encoded: Encoded, view: int, hits: Hits) -> Any:
        triples = encoded.triples[encoded.view_offsets[view] : encoded.view_offsets[view + 1]]
        work[LOOKUPS] += probe._queue_lookups(triples, index.key_table, hits.hashes, hits.loaded, hits.origin)
        return kernel(index, encoded, view, hits)

    return count_queued


_COUNTED: Mapping[str, Callable[[Callable[..., Any], Counter[str]], Callable[..., Any]]] = {
    "probe": _count_lookups,
    "advance": _count_tries,
    "has_key": _count_calls(TESTS),
    "narrow_range": _count_calls(CHECKS),
    "compares": _count_calls(CHECKS),
    "all_hold": _count_calls(CHECKS),
    "holds": _count_calls(CHECKS),
}
