"""A parser's child stays within the memory that docs/formats.md states, whatever it is given, and good documents at the
largest size are published within it.

No test saw that a child took four times what was aimed at: limits were tested at small values, by documents that exceed
one of them, and no test measured a child. `large_documents` generates documents of every format at the size limit.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from large_documents import GOOD, HOSTILE, SMALLER

from triplecast.ingest import GATE, Document, ParsedDocument, Parser
from triplecast.ingest.gate import CHILD, MEGABYTE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process holds")
OWN = 64 * MEGABYTE
"""More than what a child holds before its first document."""
SMALL = Document("small.ttl", b"<urn:s> <urn:p> 1 .")


@pytest.fixture
def parser() -> Iterator[Parser]:
    with Parser() as it:
        yield it


def held_after(parser: Parser, document: Document) -> tuple[ParsedDocument, int]:
    """What became of it between two small documents, which are published, and the bytes that the child held at most."""
    before, parsed, after = parser.parse([SMALL, document, SMALL])
    assert len(before.drafts) == len(after.drafts) == 1
    child = parser._sandboxes[0]._child
    assert child is not None
    status = Path(f"/proc/{child._process.pid}/status").read_text()
    return parsed, 1024 * int(status.partition("VmHWM:")[2].split()[0])


def check_good(parser: Parser, name: str, rng: random.Random) -> None:
    media_type, make = GOOD[name]
    data = make(rng, SMALLER.get(name, GATE.bytes))
    parsed, held = held_after(parser, Document(name, data, media_type))
    assert parsed.rejects == (), name
    assert parser._sandboxes[0].started == 1, name
    assert held <= CHILD.memory + OWN, name


def check_hostile(parser: Parser, name: str, rng: random.Random, size: int) -> None:
    media_type, make = HOSTILE[name]
    parsed, held = held_after(parser, Document(name, make(rng, size), media_type))
    assert parsed.drafts or parsed.rejects or parsed.warnings, name
    assert held <= CHILD.memory + OWN, name


def test_some_documents_stay_within_the_memory_of_a_child(parser: Parser, seed: int) -> None:
    rng = random.Random(seed)
    check_good(parser, rng.choice(list(GOOD)), rng)
    for name in rng.sample(list(HOSTILE), 6):
        check_hostile(parser, name, rng, 4 * MEGABYTE)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
def test_a_good_document_of_the_largest_size_is_published(parser: Parser, seed: int, name: str) -> None:
    check_good(parser, name, random.Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_of_the_largest_size_harms_nobody(parser: Parser, seed: int, name: str) -> None:
    check_hostile(parser, name, random.Random(seed), GATE.bytes)


def test_the_page_states_the_limits() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text("utf-8")
    assert f"|{CHILD.seconds:g} s (60 s at the second try), {CHILD.memory // MEGABYTE} MiB, 192 MiB|" in page
    assert f"graphs of a dataset|{GATE.publications:,}|" in page
    assert f"|graph IRI of a publication|{GATE.identity_bytes:,} bytes|" in page
