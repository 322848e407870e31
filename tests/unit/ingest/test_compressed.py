"""Gzip of every format is read within the limit of the unpacked size; damaged or endless gzip is a reject."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import pytest
from large_documents import GOOD

from triplecast.ingest import GATE, Document, GateLimits
from triplecast.ingest.parse import parse_document


@pytest.mark.parametrize("name", GOOD)
def test_a_compressed_document_is_what_it_is_unpacked(name: str, seed: int) -> None:
    rng = random.Random(seed)
    media_type, make = GOOD[name]
    data = make(rng, 9_000)
    cut = rng.randrange(len(data))
    packed = gzip.compress(data[:cut]) + gzip.compress(data[cut:])
    plain = parse_document(Document(name, data, graph="http://e/d"))
    assert plain.drafts
    assert parse_document(Document(f"{name}.gz", packed, graph="http://e/d")) == plain
    for said in (media_type, "application/gzip"):
        assert parse_document(Document(name, packed, said, graph="http://e/d")) == plain


def test_any_cut_or_flipped_gzip_is_a_reject_or_the_document(seed: int) -> None:
    rng = random.Random(seed)
    document = b'<urn:s> <urn:p> "%b" .' % bytes(rng.choices(b"abc ", k=300))
    packed = gzip.compress(document)
    plain = parse_document(Document("d.ttl", document)).drafts[0].quads
    for _ in range(300):
        at = rng.randrange(2, len(packed))
        other = packed[:at] if rng.random() < 0.5 else packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
        parsed = parse_document(Document("d.ttl", other))
        assert parsed.rejects or parsed.drafts[0].quads == plain  # a flip in the header may change nothing
        assert len(parsed.rejects) <= 1


@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_is_unpacked_no_further_than_the_limit(layers: int) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join((*(packer.compress(bytes(1 << 20)) for _ in range(100)), packer.flush()))
    for _ in range(layers - 1):
        bomb = gzip.compress(bomb)
    assert len(bomb) < GATE.bytes // 100
    tracemalloc.start()
    (reject,) = parse_document(Document("d.ttl.gz", bomb)).rejects
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * GATE.bytes, "the bomb has six times as much"
    assert ("more than 16777216 bytes unpacked" if layers == 1 else "is compressed (gzip)") in reject.reason
    limits = GateLimits(bytes=19)
    exact = b"<a:s> <a:p> <a:o> ."
    assert parse_document(Document("d.ttl", gzip.compress(exact)), limits).drafts == ()  # the gzip itself is longer
    assert parse_document(Document("d.ttl", gzip.compress(exact)), GateLimits(bytes=60)).drafts
    for more in (gzip.compress(b"") * 1_000, b"behind"):
        assert "behind its end" in parse_document(Document("d.ttl", gzip.compress(exact) + more)).rejects[0].reason
    assert parse_document(Document("d.ttl", gzip.compress(exact) + bytes(9))).drafts
