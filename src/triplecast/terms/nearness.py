"""Similarity of names, to suggest what somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

LIKE = 0.75
"""Similarity from which one name may have been meant for another: the share of common characters, in order."""


def nearest_names(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Return those of `names` that are similar to `wanted`, the most similar first, ties in their order. IRIs are
    compared by their last parts; one in the same namespace goes before others."""
    ranked: list[tuple[float, int, str]] = []
    namespace, local = split_name(wanted)
    for place, name in enumerate(names):
        other_namespace, other = split_name(name)
        likeness = likeness_of(local, other)
        if name != wanted and likeness >= LIKE:
            ranked.append((-likeness - 0.1 * (namespace == other_namespace), place, name))
    return [name for _, _, name in sorted(ranked)[:most]]


def likeness_of(left: str, right: str) -> float:
    """Return 1.0 for names that differ only in letter case, down to 0.0 for names with nothing in common."""
    first, second = left.casefold(), right.casefold()
    if first == second:
        return 1.0
    if not first or not second or min(len(first), len(second)) < LIKE / 2 * max(len(first), len(second)):
        return 0.0
    return SequenceMatcher(None, first[:200], second[:200], autojunk=False).ratio()


def split_name(name: str) -> tuple[str, str]:
    """Split an IRI into namespace and last part, at the last ``/``, ``#`` or ``:``."""
    start = 1 + max(name.rfind("/"), name.rfind("#"), name.rfind(":"))
    return name[:start], name[start:]


def one_apart(left: str, right: str) -> bool:
    """Whether the two differ by one character that was changed, added or left out."""
    if abs(len(left) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    return left[start + (len(left) >= len(right)) :] == right[start + (len(right) >= len(left)) :]
