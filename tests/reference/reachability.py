"""What strong references reach, found anew each time: the reference of `triplecast.local.closure`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def reachable(roots: Iterable[str], references: Mapping[str, Collection[str]]) -> set[str]:
    """The roots and all that they reach."""
    found = set(roots)
    while True:
        more = {target for node in found for target in references.get(node, ())} - found
        if not more:
            return found
        found |= more


class Counted:
    """Reference counting, as MDV has it: wrong where references are cyclic."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}
        """How many roots and held references each has."""

    def add(self, node: str, references: Mapping[str, Collection[str]]) -> None:
        self.held[node] = self.held.get(node, 0) + 1
        if self.held[node] == 1:
            for target in references.get(node, ()):
                self.add(target, references)

    def drop(self, node: str, references: Mapping[str, Collection[str]]) -> None:
        self.held[node] -= 1
        if self.held[node] == 0:
            del self.held[node]
            for target in references.get(node, ()):
                self.drop(target, references)
