"""Parsing in process gives what a child gives, and no document can make it crash, hang or fill memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.ingest.harmless_documents import TYPES, mutant, real, strained
from triplecast import Engine
from triplecast.ingest import Document, Parser, harmless
from triplecast.ingest.gate import GATE
from triplecast.ingest.harmless import parse_harmless
from triplecast.ingest.parse import parse_document

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
ROOT = Path(__file__).resolve().parents[3]
PLAIN = b"@prefix : <http://e/> . :s :p :o, 'a (b) [c]' ; a :C . _:x :p [ :q ( 1 2 ) ] ."


def alone(*arguments: str, timeout: float = 3600) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.unit.ingest.harmless_documents", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_hostile_documents_cost_little_in_process() -> None:
    seen = alone("hostile", "hostile")
    assert seen["here"] > 100, "most shapes are parsed in process at one of their sizes"
    assert seen["bytes"] < 1 << 20
    assert seen["seconds"] < 0.25, "0.01 on a quiet machine"
    assert seen["MB"] < 64


def test_hostile_documents_give_what_a_child_gives() -> None:
    for document in strained():
        here = parse_harmless(document)
        assert here is None or here == parse_document(document), (document.source, document.media_type)


@pytest.mark.parametrize("count", [4_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_mutants_give_what_a_child_gives(count: int, shared_data: Path) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/ingest/test_harmless.py"""
    seen = alone(str(SEED), str(count))
    assert seen["here"] > 0.7 * count
    assert seen["here"] - seen["rejected here"] > 0.2 * count
    assert seen["with blank nodes"] > 0.05 * count
    assert seen["MB"] < 150


def test_a_parser_gives_the_same_with_and_without_its_child(shared_data: Path) -> None:
    rng, documents = random.Random(SEED), real(shared_data)
    mutants = [mutant(rng, documents) for _ in range(400)]
    mutants += [Document("half \ud800", PLAIN), Document("d.ttl", PLAIN, attachments={"http://e/o": b"x"})]
    mutants += [Document("d.ttl", memoryview(PLAIN)), Document("d\udcff.ttl", b"<")]  # type: ignore[arg-type]
    with Parser() as parser:
        assert parser.parse_soon(mutants) == parser.parse(mutants), f"seed {SEED}"
        assert parser.parse_soon([]) == []


@pytest.mark.parametrize("media_type", [*TYPES.values(), None])
def test_a_child_is_started_by_the_first_document_that_needs_one(media_type: str | None) -> None:
    with Parser() as parser:
        (sandbox,) = parser._sandboxes
        parser.parse_soon([Document("d", b"<a:s> <a:p> 'x' .", media_type), Document("d", b"<", media_type)])
        assert sandbox.started == 0
        (feed,) = parser.parse_soon([Document("d.json", b'{"@id": "a:s", "a:p": 1}')])
        assert feed.drafts
        assert sandbox.started == 1


@pytest.mark.parametrize(
    "data",
    [
        b"<a:s> <a:p> '" + b"x" * (1 << 16) + b"' .",
        b"<a:s> <a:p> " + b",".join(b"%d" % number for number in range(2_001)) + b" .",
        b"<a:s> <a:p> 1" + b", (1)" * 101 + b" .",
        b"@prefix : <a:" + b"x" * 30_000 + b"> ." + b": : : ." * 20,
        b"_:a <a:p> " + b",".join(b"%d" % number for number in range(201)) + b" .",
        b"".join(b"_:%c <a:p> _:%c ." % (one, two) for one in b"abcdefgh" for two in b"abcdefgh"),
    ],
)
def test_what_is_beyond_a_bound_goes_to_the_child(data: bytes) -> None:
    document = Document("d", data, "text/turtle")
    assert parse_harmless(document) is None
    assert parse_document(document).drafts


def test_what_makes_the_parser_panic_goes_to_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As pyo3's."""

    def panic(*_: object) -> None:
        raise PanicException

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with Engine(operators=()) as engine:
        monkeypatch.setattr(harmless, "parse_flat", panic)
        assert engine.publish("<a:s> <a:p> 1 .", "text/turtle", graph="a:g").publications
        monkeypatch.setattr(harmless, "parse_flat", stop)
        with pytest.raises(KeyboardInterrupt):
            engine.publish("<a:s> <a:p> 2 .", "text/turtle", graph="a:g")


def test_what_is_harmless_has_too_few_brackets_to_nest_too_deeply() -> None:
    """So its nesting is not checked again."""
    assert harmless._BRACKETS <= harmless._LIMITS.nesting == GATE.nesting
