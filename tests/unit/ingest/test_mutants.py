"""Documents with random damage, in every format: always publications or rejects, the same at each parse."""

from __future__ import annotations

import os
import random

import pytest

from tests.unit.ingest.test_feeds import ATOM, RSS_1, RSS_2
from tests.unit.ingest.test_publications import DATASETS, SAME
from triplecast.ingest import Document
from triplecast.ingest.parse import parse_document

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
SOUND = [
    *((name, data) for name, data in (SAME | DATASETS).items()),
    *(("f.xml", text.encode()) for text in (RSS_1, RSS_2, ATOM)),
]
DAMAGE = (
    *(b"<", b">", b"&", b"&#55357;", b"\0", b"\xff", b'"', b"'", b"<![CDATA[", b"]]>", b"<!--", b"<item>", b"</item>"),
    *(b"&nbsp;", b"{", b"}", b"[", b"]", b"\\u", b"@", b"_:", b"<<(", b"http://", b"<guid>", b"<pubDate>", b"\r\n"),
)


def damaged(rng: random.Random) -> Document:
    name, data = rng.choice(SOUND)
    text = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        match rng.randrange(4):
            case 0:
                text[start:start] = rng.choice(DAMAGE)
            case 1:
                del text[start : start + rng.randint(1, 20)]
            case 2:
                text[end:end] = text[start : start + rng.randint(1, 40)]
            case _:
                text[start : start + 1] = bytes([rng.randrange(256)])
    return Document(name, bytes(text), graph=rng.choice([None, "http://e/d"]), dataset=rng.random() < 0.2)


@pytest.mark.parametrize("seed", range(SEED, SEED + 10))
def test_damage_is_told_or_harmless(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/ingest/test_mutants.py"""
    rng = random.Random(seed)
    for number in range(100):
        document = damaged(rng)
        parsed = parse_document(document)
        assert parsed == parse_document(document), f"seed {seed}, document {number}: {document}"
        for draft in parsed.drafts:
            lines = draft.quads.splitlines(True)
            assert lines == sorted(set(lines)), f"seed {seed}, document {number}"
            assert draft.quads == b"" or draft.quads.endswith(b" .\n")
            again = parse_document(Document("again.nq", draft.quads, graph=draft.graph, dataset=True))
            assert not again.rejects, f"seed {seed}, document {number}: {again.rejects}"
            if draft.labels != "input":
                assert again.drafts[0].quads == draft.quads, f"seed {seed}, document {number}"
        for reject in parsed.rejects:
            assert reject.stage in ("gate", "parse", "feed")
            assert reject.reason
            assert reject.hint
            assert reject.line is None or reject.line > 0
