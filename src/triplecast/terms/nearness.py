"""Names that somebody may have meant: like another name but for a slip, or in a namespace that is easily confused."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

LIKE = 0.75
"""Share of characters that two names have in common, in order, from which one may be meant for the other."""


def nearest_names(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Those of `names` that are like `wanted`, the likest first, ties in their order. IRIs are alike when their last
    parts are, whatever stands before them, one in the same namespace before others."""
    ranked: list[tuple[float, int, str]] = []
    namespace, local = split_name(wanted)
    for place, name in enumerate(names):
        other_namespace, other = split_name(name)
        likeness = likeness_of(local, other)
        if name != wanted and likeness >= LIKE:
            ranked.append((-likeness - 0.1 * (namespace == other_namespace), place, name))
    return [name for _, _, name in sorted(ranked)[:most]]


def likeness_of(left: str, right: str) -> float:
    """1.0 for names that differ in letter case only, 0.0 for names with nothing in common."""
    first, second = left.casefold(), right.casefold()
    if first == second:
        return 1.0
    if not first or not second or min(len(first), len(second)) < LIKE / 2 * max(len(first), len(second)):
        return 0.0
    return SequenceMatcher(None, first[:200], second[:200], autojunk=False).ratio()


def split_name(name: str) -> tuple[str, str]:
    """(namespace, last part) of an IRI: what follows the last ``/``, ``#`` or ``:``."""
    start = 1 + max(name.rfind(sign) for sign in "/#:")
    return name[:start], name[start:]


def one_apart(left: str, right: str) -> bool:
    """Whether one character was changed, added or left out."""
    if abs(len(left) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    return left[start + (len(left) >= len(right)) :] == right[start + (len(right) >= len(left)) :]
