"""What is held: everything that strong references reach from the roots, kept up event by event.

What only lost roots and lost references held is found by marking again, inside the held set, what was reachable from
there. Counting references, as MDV does (Keidl, Kreutz, Kemper, Kossmann: ICDE 2002, section 2.4), never drops a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

Node = str
"""An IRI or a blank node in N-Triples form."""
References = Callable[[Node], Collection[Node]]
"""What a node refers to strongly, now."""


class ClosureChange(NamedTuple):
    """What an event did to the held set."""

    gained: frozenset[Node]
    dropped: frozenset[Node]


class HeldSet:
    """The nodes that are reachable from the roots. Its work follows what changes, not what is held."""

    def __init__(self) -> None:
        self._roots: set[Node] = set()
        self._out: dict[Node, frozenset[Node]] = {}
        """Of each held node, what it refers to."""
        self._into: dict[Node, set[Node]] = {}
        """Of each held node, the held nodes that refer to it."""

    def __contains__(self, node: object) -> bool:
        return node in self._out

    @property
    def members(self) -> Mapping[Node, frozenset[Node]]:
        """What is held, with what each refers to."""
        return MappingProxyType(self._out)

    def change(
        self, gained: Iterable[Node], lost: Iterable[Node], changed: Iterable[Node], references: References
    ) -> ClosureChange:
        """Take an event: roots that came, roots that went, and nodes whose references may not be what they were."""
        came, gone = {*gained}, {*lost}
        self._roots = (self._roots - gone) | came
        found = [node for node in came if node not in self._out]
        suspects = {node for node in gone - came if node in self._out}
        for node in {*changed}.intersection(self._out):
            before, now = self._out[node], frozenset(references(node))
            for target in before - now:
                self._into[target].discard(node)
            suspects |= before - now
            found += self._refer(node, now)
        added = self._mark(found, references)
        dropped = self._drop(suspects)
        return ClosureChange(frozenset(added - dropped), frozenset(dropped - added))

    def _refer(self, node: Node, targets: frozenset[Node]) -> list[Node]:
        """Note what a held node refers to; return what of that is not held yet."""
        self._out[node] = targets
        for target in targets:
            self._into.setdefault(target, set()).add(node)
        return [target for target in targets if target not in self._out]

    def _mark(self, found: list[Node], references: References) -> set[Node]:
        """Hold what was found and all that it reaches; return what is new."""
        added: set[Node] = set()
        while found:
            node = found.pop()
            if node not in self._out:
                added.add(node)
                found += self._refer(node, frozenset(references(node)))
        return added

    def _drop(self, suspects: set[Node]) -> set[Node]:
        """Drop what nothing holds any more, of all that the suspects reach."""
        doubtful, left = set(suspects), [*suspects]
        while left:
            for target in self._out[left.pop()]:
                if target not in doubtful:
                    doubtful.add(target)
                    left.append(target)
        left = [node for node in doubtful if node in self._roots or not self._into.get(node, set()).issubset(doubtful)]
        kept = set(left)
        while left:
            for target in self._out[left.pop()]:
                if target in doubtful and target not in kept:
                    kept.add(target)
                    left.append(target)
        dropped = doubtful - kept
        for node in dropped:
            for target in self._out.pop(node):
                self._into[target].discard(node)
        for node in dropped:
            self._into.pop(node, None)
        return dropped
