"""Tries of tuples (section 3.1, step 3): growing them, and reaching what a triple fulfils (section 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from experiments.rtf.publications import Text
from experiments.rtf.queries import ANY, Variable
from experiments.rtf.steps import NODES

VARIABLE = "$variable"
"""The content of every variable's node (line 138). The text's figure 2 writes the variable's name; one node for all of
them shares more and asks no more of a triple."""
FULL_TEXT = "FT"
"""The pseudo-node between structure and words (line 94)."""


class Node:
    """Content, children and tuple identifiers (lines 86 to 90); the content is the key under which its parent has it.

    Children are a dict for k1 and for growing; the text's list is its values in order.
    """

    __slots__ = ("children", "tids")

    def __init__(self) -> None:
        self.children: dict[str, Node] = {}
        self.tids: list[int] = []

    def child(self, content: str) -> Node:
        """The child with this content, made where there is none (lines 96 and 98)."""
        found = self.children.get(content)
        if found is None:
            found = self.children[content] = Node()
        return found


def content_of(place: str | Variable) -> str:
    return VARIABLE if isinstance(place, Variable) else place


def grow_structure(forest: Node, places: Iterable[str | Variable]) -> Node:
    """The object's node of a tuple; `forest` holds the roots."""
    node = forest
    for place in places:
        node = node.child(content_of(place))
    return node


def grow_words(node: Node, words: Sequence[str]) -> Node:
    """The node under which a tuple with these distinct words is stored.

    Line 98 says that organisation is greedy and depends on what is stored: a child that holds one of the words is
    followed, the first in the query's order; where there is none, nodes are made for the rest in that order.
    """
    rest = list(words)
    while rest:
        word = next((word for word in rest if word in node.children), rest[0])
        rest.remove(word)
        node = node.child(word)
    return node


def reach_structure(
    forest: Node, places: tuple[str, str, str], variable_roots: bool, hashed: bool, steps: Counter[str]
) -> list[Node]:
    """The object's nodes whose paths fit a triple (line 138); roots are found through a hash table (line 115)."""
    subject, predicate, last = places
    wanted_roots = (subject, VARIABLE, ANY) if variable_roots else (subject,)
    steps[NODES] += len(wanted_roots)
    roots = [forest.children[content] for content in wanted_roots if content in forest.children]
    reached = [child for root in roots for child in _fitting(root, predicate, hashed, steps)]
    return [child for node in reached for child in _fitting(node, last, hashed, steps)]


def _fitting(node: Node, term: str, hashed: bool, steps: Counter[str]) -> list[Node]:
    """The children with this content, a variable or the wildcard."""
    wanted, children = (term, VARIABLE, ANY), node.children
    if hashed and len(children) > len(wanted):
        steps[NODES] += len(wanted)
        return [children[content] for content in wanted if content in children]
    steps[NODES] += len(children)
    return [child for content, child in children.items() if content in wanted]


def reach_words(top: Node, text: Text, hashed_top: bool, hashed: bool, steps: Counter[str]) -> Iterator[Node]:
    """`top` and all nodes under it whose words the text has, depth first (line 140)."""
    yield top
    waiting = [(top, hashed_top)]
    while waiting:
        node, by_hash = waiting.pop()
        children = node.children
        if by_hash and len(children) > len(text):
            steps[NODES] += len(text)
            found = [children[word] for word in text if word in children]
        else:
            steps[NODES] += len(children)
            found = [child for word, child in children.items() if word in text]
        yield from found
        waiting += [(child, hashed) for child in reversed(found)]
