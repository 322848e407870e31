"""Real texts through the index: Luwak's queries over its articles, and DBpedia's abstracts, against sets of words."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from benchmarks.scenarios.indexes import to_registrations
from benchmarks.workloads.abstracts import make_abstracts
from tests.reference import wording
from tests.reference.values import NotDetermined
from triplecast.index import Segment, Snapshot, build_segment
from triplecast.index.registrations import NO_REMOVALS
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.text import holds, parse_selection
from triplecast.text.dialects import lucene

_WORD = re.compile(r"[A-Za-z0-9]+")
"""Articles are rewritten as runs of these, which are words to everybody."""


def _publications(texts: Sequence[bytes]) -> list[Publication]:
    return [Publication(10**9 + at, f"urn:text:{at}", 1, "", text) for at, text in enumerate(texts)]


def _pairs(segment: Segment, texts: Sequence[bytes]) -> set[tuple[int, int]]:
    """(publication, subscription) of decided matches, a hundred publications at a time."""
    found: set[tuple[int, int]] = set()
    with Matcher() as matcher:
        snapshot = Snapshot(10**8, (segment,), NO_REMOVALS)
        for first in range(0, len(texts), 100):
            place = first
            for publications, matched in matcher.match_pieces(snapshot, _publications(texts[first : first + 100])):
                assert (matched.stats.candidates, matched.undecided) == (0, ())
                number = np.searchsorted(segment.tables.registrations, matched.registration)
                found.update(zip((matched.publication + place).tolist(), number.tolist(), strict=True))
                place += len(publications)
    return found


@pytest.mark.slow
def test_luwak_queries_are_set_containment(shared_data: Path) -> None:
    folder = shared_data / "keywords" / "luwak" / "benchmark" / "src" / "main" / "resources"
    queries = [re.findall(r"\+(\S+)", line) for line in (folder / "queries").read_text("utf-8").splitlines()]
    assert len(queries) == 2_000
    plain = [number for number, words in enumerate(queries) if all(map(str.isalnum, words))]
    assert len(plain) == 1_000
    articles = [path.read_text("utf-8") for path in sorted((folder / "docfiles").iterdir())]
    spaced = [" ".join(_WORD.findall(article)) for article in articles]
    body = NamedNode("urn:x-body")
    texts = [f"<urn:x> {body} {Literal(text)} .\n".encode() for text in spaced]
    tokens = [set(text.lower().split()) for text in spaced]
    asked = [f"ASK {{ ?s {body} ?t FILTER(ft:contains(?t, {Literal(lucene(_line(queries[at])))})) }}" for at in plain]
    segment = build_segment(to_registrations(asked))
    assert not segment.refused
    wanted = {
        (at, row)
        for at, has in enumerate(tokens)
        for row, number in enumerate(plain)
        if has.issuperset(queries[number])
    }
    assert len(wanted) > 1_000
    assert _pairs(segment, texts) == wanted
    wild = [words for number, words in enumerate(queries) if number not in plain]
    for words in wild[::20]:
        selection = parse_selection(lucene(_line(words)))
        for text, has in list(zip(spaced, tokens, strict=True))[::20]:
            there = all(any(token.startswith(word.removesuffix("*")) for token in has) for word in words)
            assert holds(selection, text, None, lambda steps: None) is there


def _line(words: Sequence[str]) -> str:
    """As Luwak's file has it."""
    return " ".join(f"+{word}" for word in words)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "from_tokens"), [(0.5, False), (1.0, True)])
def test_abstracts_are_what_the_slow_reader_finds(
    shared_data: Path, seed: int, share: float, from_tokens: bool
) -> None:
    """The RTF paper's 100,000 subscriptions, on 200 of the publications whose alphabet the slow reader knows."""
    workload = make_abstracts(shared_data / "rdf" / "dbpedia", 100_000, 5_000, share, from_tokens, seed)
    read = [text for text in map(_read, workload.publications) if text is not None]
    assert len(read) > 4_000
    texts = random.Random(seed).sample(read, 200)
    segment = build_segment(to_registrations(workload.subscriptions))
    assert not segment.refused
    found = _pairs(segment, [text.lines for text in texts])
    assert found == set(_match_slowly(workload.subscriptions, texts))
    assert len(found) > 100


class _Text(NamedTuple):
    """A publication as the slow reader has it."""

    lines: bytes
    stated: frozenset[tuple[str, str]]
    """Predicate and object."""
    words: dict[str, set[str]]
    """By predicate."""


def _read(lines: bytes) -> _Text | None:
    """None where the slow reader does not know its alphabet."""
    triples = [quad.triple for quad in parse(lines, format=RdfFormat.N_TRIPLES)]
    literals = {triple.predicate.value: triple.object for triple in triples if isinstance(triple.object, Literal)}
    try:
        words = {verb: {word.folded for word in wording.words_of(text.value)} for verb, text in literals.items()}
    except NotDetermined:
        return None
    stated = frozenset((triple.predicate.value, str(triple.object)) for triple in triples)
    return _Text(lines, stated, words)


def _match_slowly(queries: Sequence[str], texts: Sequence[_Text]) -> Iterator[tuple[int, int]]:
    """Each pattern of each query against each publication."""
    asked = list(map(_read_query, queries))
    for at, text in enumerate(texts):
        present = {verb for verb, _ in text.stated}
        for number, patterns in enumerate(asked):
            for verb, end, words in patterns:
                if verb not in present or (end[0] == "<" and (verb, end) not in text.stated):
                    break
                if words and not words <= text.words.get(verb, set()):
                    break
            else:
                yield at, number


def _read_query(query: str) -> list[tuple[str, str, frozenset[str]]]:
    """Predicate, object and the words that the object must have, of each pattern."""
    words = {
        variable: re.findall(r'\\"((?:[^"\\]|\\"\\")+)\\"', selection)
        for variable, selection in re.findall(r'ft:contains\((\?v\d), "((?:[^"\\]|\\.)*)"\)', query)
    }
    return [
        (verb, end, frozenset(word.replace('\\"\\"', '"') for word in words.get(end, ())))
        for verb, end in re.findall(r"\?s <([^>]*)> (<[^>]*>|\?v\d)", query)
    ]
