"""Groups of documents parsed ahead: the same results in the same order as one after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from triplecast.ingest import Document, Parser, ahead
from triplecast.ingest.ahead import AHEAD, parse_ahead


def _groups(rng: random.Random, count: int) -> list[list[Document]]:
    return [[_document(rng, f"{number}-{each}") for each in range(rng.randint(1, 30))] for number in range(count)]


def _document(rng: random.Random, name: str) -> Document:
    data = rng.choice([b"<a:s> <a:p> %d .", b"<a:s> <a:p> [ <a:q> %d ] .", b"<a:s> <a:p> %d", b"<x a='%d'/>"])
    kind = "application/rdf+xml" if data.startswith(b"<x") else "text/turtle"
    return Document(name, data % rng.randrange(1000), kind, f"urn:{name}")


@pytest.mark.parametrize("count", [0, 1, 2, 3, AHEAD, 17])
def test_groups_have_the_results_that_they_have_alone(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.randrange(1 << 32)
    monkeypatch.setattr(ahead, "UNIT", random.Random(seed).randrange(1, 40))
    groups = _groups(random.Random(seed), count)
    with Parser() as parser:
        parsed = [*parse_ahead(parser, iter(groups))]
        assert [each.documents for each in parsed] == groups, f"seed {seed}"
        assert [each.results for each in parsed] == [parser.parse(group) for group in groups], f"seed {seed}"


def test_few_groups_are_read_before_they_are_asked_for() -> None:
    """So that an endless source is bounded."""
    read: list[int] = []

    def endless() -> Iterator[list[Document]]:
        while True:
            read.append(len(read))
            yield [Document(str(len(read)), b"<a:s> <a:p> 1 .", "text/turtle")]

    with Parser() as parser:
        groups = parse_ahead(parser, endless())
        for number in range(10):
            assert next(groups).documents[0].source == str(number + 1)
            assert len(read) <= number + 1 + AHEAD
        groups.close()


@pytest.mark.parametrize("before", [0, 1, 2, 5])
def test_what_reading_raises_comes_behind_the_groups_before(before: int) -> None:
    def failing() -> Iterator[list[Document]]:
        yield from _groups(random.Random(1), before)
        raise OSError("the disk")

    with Parser() as parser:
        groups = parse_ahead(parser, failing())
        for _ in range(before):
            next(groups)
        with pytest.raises(OSError, match="the disk"):
            next(groups)


def test_a_closed_parser_says_so_at_its_group() -> None:
    with Parser() as parser:
        groups = parse_ahead(parser, iter(_groups(random.Random(2), 9)))
        next(groups)
        parser.close()
        with pytest.raises(Exception, match="the parser is closed"):
            list(groups)
