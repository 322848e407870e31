"""The lines of the paper that modules and page cite: each is about what stands beside the citation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "experiments" / "rtf"
CITED = re.compile(r"\b[Ll]ines? (\d+(?:(?:,| to| and) \d+)*)")
NEAR = 240
"""Characters before and after a citation in which one of its line's words has to stand."""
WORDS = {
    13: ("negation", "orders of magnitude"),
    31: ("ftNEAR", "ftcontains", "literal"),
    38: ("olympic", "words after", "proximity"),
    40: ("wildcard",),
    70: ("conjuncts", "continuous quer"),
    82: ("QT", "Query Table"),
    86: ("content",),
    88: ("children",),
    90: ("tuple identifiers",),
    94: ("pseudo-node", "distinct word"),
    96: ("trie", "child"),
    98: ("greedy", "depends on"),
    100: ("Disjunction", "proximity", "separate queries"),
    115: ("hash table", "trie roots"),
    122: ("RTFs", "single trie forest"),
    126: ("Filtering",),
    134: ("publication",),
    138: ("root", "$variable", "children", "filtering"),
    140: ("children", "words"),
    147: ("scan of QT", "marked", "traversal", "filtering"),
    153: ("attribute", "NextToMatch", "variables", "inverted index", "Value", "iBroker"),
    155: ("beginning", "examine", "NextToMatch", "iBroker"),
    157: ("list of words", "Value field"),
    163: ("corpus",),
    165: ("multi-set", "half of the queries", "Each query", "conjunct"),
    167: ("publications",),
    184: ("publications/s",),
    208: ("memory",),
    212: ("orders of magnitude",),
}
"""By line: words that it has."""
ALIKE = {"query table": "scan of qt", "value's place": "value field", "hashed": "hash table", "abstracts": "corpus"}
"""How modules name what the paper names otherwise."""


class Citation(NamedTuple):
    where: str
    lines: tuple[int, ...]
    near: str


def read_citations() -> Iterator[Citation]:
    for path in sorted((*FOLDER.glob("*.py"), FOLDER / "README.md")):
        text = path.read_text("utf-8")
        for found in CITED.finditer(text):
            near = text[max(0, found.start() - NEAR) : found.end() + NEAR]
            lines = tuple(map(int, re.findall(r"\d+", found[1])))
            yield Citation(f"{path.name}: {found[0]}", lines, " ".join(near.split()).lower())


def test_a_citation_stands_beside_what_its_line_is_about() -> None:
    citations = list(read_citations())
    assert len(citations) > 50
    assert {line for each in citations for line in each.lines} <= set(WORDS)
    for each in citations:
        near = each.near + "".join(word for name, word in ALIKE.items() if name in each.near)
        told = chain.from_iterable(WORDS[line] for line in each.lines)
        assert any(word.lower() in near for word in told), each


def test_cited_lines_have_these_words() -> None:
    paper = ROOT.parent / "shared" / "papers" / "rtf-full-text-2016.txt"
    if not paper.is_file():
        pytest.skip("the papers' texts ../shared/papers are not on this machine")
    lines = paper.read_text("utf-8").splitlines()
    assert [(line, word) for line, words in WORDS.items() for word in words if word not in lines[line - 1]] == []
