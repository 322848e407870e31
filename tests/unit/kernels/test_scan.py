from __future__ import annotations

import random

import numpy as np
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from tests.unit.kernels.slow_scan import SlowPublication, scan_slowly
from triplecast.kernels import hashing
from triplecast.kernels.scan import (
    CROWDED,
    OPEN_KEY,
    WALKED_BESIDES,
    WALKED_PER_LINE,
    Key,
    ScannedBatch,
    draw_key,
    scan,
    scan_text,
)
from triplecast.kernels.words import pad

PLAIN = b'<x:s> <x:p> "1" .\n<x:s> <x:p> <x:s> .\n_:b1 <x:p> _:b10 .\n_:b10 <x:q> "a"@en-gb .\n'
QUADS = b"<x:s> <x:p> <x:o> .\n<x:s> <x:p> <x:o> <x:g> .\n_:a <x:p> <x:o> _:a .\n"


def read_back(batch: ScannedBatch, publication: int) -> SlowPublication:
    """What the batch says about one publication, in the slow reader's words."""
    first, last = batch.triple_offsets[publication : publication + 2]
    count = batch.term_offsets[publication + 1] - batch.term_offsets[publication]
    return SlowPublication(
        [batch.term(publication, number) for number in range(count)],
        [tuple(row) for row in batch.triples[first:last].tolist()],
        batch.graphs[first:last].tolist(),
    )


def some_terms(source: random.Random) -> tuple[list[NamedNode | BlankNode], list[NamedNode], list[Literal]]:
    characters = 'a"\\\n\r\t\b\f\x00\x1f\x7f >@^é\u2028\U0001f600'
    names = [NamedNode("http://example.org/" + "x" * source.randrange(40) + str(n)) for n in range(6)]
    blanks = [BlankNode(f"b{n}") for n in (1, 10, 100)]
    texts = ["".join(source.choices(characters, k=source.randrange(20))) for _ in range(6)]
    literals = [Literal(text) for text in texts]
    literals += [Literal(text, language=source.choice(("en", "EN-us", "de-1996"))) for text in texts]
    literals += [Literal(text, datatype=source.choice(names)) for text in texts]
    return [*names, *blanks], names, literals


def random_publication(source: random.Random, dataset: bool) -> bytes:
    names, predicates, literals = some_terms(source)
    lines = set()
    for _ in range(source.randrange(30)):
        triple = Triple(source.choice(names), source.choice(predicates), source.choice([*names, *literals]))
        quad = Quad(*triple, source.choice(names)) if dataset and source.random() < 0.6 else triple
        lines.add(f"{quad} .\n".encode())
    return b"".join(sorted(lines))


def test_random_publications_scan_as_the_slow_reader_reads_them(seed: int) -> None:
    source = random.Random(seed)
    dataset = [source.random() < 0.4 for _ in range(300)]
    texts = [random_publication(source, quads) for quads in dataset]
    batch = scan(texts, dataset)
    assert batch.triple_offsets[-1] > 3000
    for publication, (text, quads) in enumerate(zip(texts, dataset, strict=True)):
        assert read_back(batch, publication) == scan_slowly(text, quads)
    hashes = hashing.hash_terms(
        [batch.term(p, n) for p in range(300) for n in range(batch.term_offsets[p + 1] - batch.term_offsets[p])]
    )
    assert (batch.term_hash == hashes).all()


def test_a_batch_is_its_publications_one_by_one() -> None:
    batch = scan([PLAIN, b"", QUADS, PLAIN, b""], [False, True, True, False, False])
    for publication, text in enumerate([PLAIN, b"", QUADS, PLAIN, b""]):
        alone = scan([text], [True])
        assert read_back(batch, publication) == read_back(alone, 0)
        rows = slice(batch.term_offsets[publication], batch.term_offsets[publication + 1])
        for name in ("term_hash", "term_class", "term_tie", "term_number"):
            assert getattr(batch, name)[rows].tolist() == getattr(alone, name).tolist()


@pytest.mark.parametrize("texts", [[], [b""], [b"", b"", b""]])
def test_nothing_gives_empty_arrays(texts: list[bytes]) -> None:
    batch = scan(texts)
    assert batch.triple_offsets.tolist() == [0] * (len(texts) + 1)
    assert batch.triples.shape == (0, 3)
    assert len(batch.term_hash) == len(batch.text) == 0


def test_array_types_are_as_stated() -> None:
    batch = scan([PLAIN])
    found = {name: array.dtype.name for name, array in batch._asdict().items()}
    assert found == {
        "text": "uint8",
        "triple_offsets": "int64",
        "triples": "int32",
        "graphs": "int32",
        "term_offsets": "int64",
        "term_start": "int64",
        "term_length": "int32",
        "term_hash": "uint64",
        "term_class": "uint8",
        "term_number": "float64",
        "term_tie": "int8",
    }
    assert all(array.flags.c_contiguous and array.flags.writeable for array in batch)


@pytest.mark.parametrize("mask", [0, 1, 0xFF])
def test_colliding_hashes_do_not_merge_terms(mask: int, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    source = random.Random(seed)
    texts = [random_publication(source, True) for _ in range(20)]
    strong = scan(texts, [True] * 20)
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(mask))
    weak = scan(texts, [True] * 20)
    assert len(np.unique(weak.term_hash)) <= mask + 1
    for publication in range(20):
        assert read_back(weak, publication) == read_back(strong, publication)


def forged_publication(lines: int) -> bytes:
    return b"".join(sorted(b'<x:s%d> <x:p> "%d" .\n' % (n, n) for n in range(lines)))


def walked(text: bytes, mask: int, key: Key) -> tuple[int, int]:
    """(the fault, occupied places walked over) of one publication's scan."""
    starts = np.array([0, len(text)], np.int64)
    _, fault, steps = scan_text(pad([text]), starts, np.zeros(1, np.bool_), np.uint64(mask), key)
    return fault, steps


def test_terms_that_all_collide_are_scanned_again_under_a_secret_key() -> None:
    text = forged_publication(4000)
    fault, steps = walked(text, 0, OPEN_KEY)
    assert fault == CROWDED
    assert steps < WALKED_PER_LINE * 4000 + WALKED_BESIDES + 3 * 8001, "it stops at the line that is too much"
    fault, steps = walked(text, 0, draw_key())
    assert fault == -1
    assert steps < 2 * 4000, "quadratic would be 32 million"


def test_honest_text_is_scanned_once() -> None:
    fault, steps = walked(forged_publication(4000), 2**64 - 1, OPEN_KEY)
    assert fault == -1
    assert steps < 2 * 4000


@pytest.mark.parametrize("mask", [0, 2**64 - 1])
def test_numbers_and_hashes_do_not_depend_on_the_key(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(mask))
    text = forged_publication(1000)
    batch, again = scan([PLAIN, text, PLAIN]), scan([PLAIN, text, PLAIN])
    starts = np.cumsum([0, len(PLAIN), len(text), len(PLAIN)])
    keyed, fault, _ = scan_text(pad([PLAIN, text, PLAIN]), starts, np.zeros(3, np.bool_), np.uint64(mask), draw_key())
    assert fault == -1
    for name in batch._fields:
        assert getattr(batch, name).tobytes() == getattr(again, name).tobytes() == getattr(keyed, name).tobytes(), name
    assert read_back(batch, 1) == scan_slowly(text, False)


def test_a_fault_is_found_behind_colliding_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(0))
    with pytest.raises(ValueError, match=r"publication 0, byte .*, line 1001"):
        scan([forged_publication(1000) + b"<x:z> .\n"])


def test_a_graph_name_is_refused_outside_datasets() -> None:
    assert scan([QUADS], [True]).graphs.tolist() == [-1, 3, 4]
    with pytest.raises(ValueError, match="publication 1, byte 38, line 2"):
        scan([PLAIN, QUADS], [True, False])


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        (b"\n", 0),
        (b"<x:s>", 0),
        (b"<x:s> <x:p> <x:o> .", 0),
        (b"<x:s> <x:p> <x:o> .\r\n", 18),
        (b"<x:s> <x:p> <x:o>.\n", 17),
        (b"<x:s>  <x:p> <x:o> .\n", 6),
        (b"<x:s> <x:p> <x:o .\n", 16),
        (b"<> <x:p> <x:o> .\n", 1),
        (b"<x:s> _:p <x:o> .\n", 6),
        (b"<x:s> <x:p> _: .\n", 14),
        (b"<x:s> <x:p> _x .\n", 13),
        (b'"s" <x:p> <x:o> .\n', 0),
        (b'<x:s> <x:p> "o .\n', 16),
        (b'<x:s> <x:p> "o\\x" .\n', 14),
        (b'<x:s> <x:p> "o\\u00e9" .\n', 14),
        (b'<x:s> <x:p> "o"@EN .\n', 16),
        (b'<x:s> <x:p> "o"@en- .\n', 19),
        (b'<x:s> <x:p> "o"^<x:t> .\n', 16),
        (b'<x:s> <x:p> "o"^^x:t .\n', 16),
        (b"<x:s> <x:p> <x:o> .\n<x:s> <x:p> <x:o> .", 20),
        (b"<x:s> <x:p> <x:o> .\n# comment\n", 20),
        (b"<x:s> <x:p> \x00 .\n", 12),
    ],
)
def test_malformed_text_is_refused_at_its_place(text: bytes, byte: int) -> None:
    with pytest.raises(ValueError, match=f"publication 2, byte {byte}, "):
        scan([PLAIN, b"", text, PLAIN])


@pytest.mark.parametrize("text", [PLAIN, QUADS])
def test_every_cut_and_every_changed_byte_reads_as_the_slow_reader_reads_it(text: bytes) -> None:
    broken = [text[:cut] for cut in range(len(text))]
    broken += [
        text[:place] + bytes([byte]) + text[place + skip :]
        for place in range(len(text))
        for skip in (0, 1)
        for byte in b'\x00\n "<>\\.:_@^aA9\xc3'
    ]
    faults = 0
    for variant in broken:
        try:
            expected = scan_slowly(variant, True)
        except ValueError:
            faults += 1
            with pytest.raises(ValueError, match="publication 0, byte"):
                scan([variant], [True])
        else:
            assert read_back(scan([variant], [True]), 0) == expected
    assert len(broken) // 3 < faults < len(broken)


def test_long_terms_and_many_terms() -> None:
    long = b"<x:" + b"y" * 100_000 + b">"
    lines = b"".join(b"<x:s> <x:p%d> <x:o%d> .\n" % (n % 7, n) for n in range(20_000))
    batch = scan([long + b" <x:p> " + long + b" .\n", lines])
    assert batch.term(0, 0) == long
    assert batch.triples[0].tolist() == [0, 1, 0]
    assert batch.term_offsets.tolist() == [0, 2, 2 + 1 + 7 + 20_000]


@pytest.mark.parametrize("length", range(40))
def test_a_hash_depends_on_the_bytes_alone(length: int) -> None:
    term = bytes(range(1, length + 1))
    around = [b"q" * n for n in range(9)]
    hashes = hashing.hash_terms([part for prefix in around for part in (prefix, term)])
    assert len({*hashes[1::2].tolist()}) == 1
    changed = [term[:n] + bytes([term[n] ^ bit]) + term[n + 1 :] for n in range(length) for bit in (1, 128)]
    different = hashing.hash_terms([term, term + b"\0", *changed])
    assert len(np.unique(different)) == len(different)
