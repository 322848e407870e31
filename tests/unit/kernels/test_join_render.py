"""Kernels of matching at their edges: forged hashes, JSON escapes, ordering of strings, growth."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
from pyoxigraph import Literal

from tests.unit.match.match_samples import expected, match_all, publication, random_case, registrations
from triplecast.kernels import hashing
from triplecast.kernels.build import group_equal_rows
from triplecast.kernels.layout import Answers
from triplecast.kernels.render import gather, render_sheets
from triplecast.kernels.resolve import Terms, compare_strings
from triplecast.kernels.sheets import SheetLimits, Sheets, sheet_size
from triplecast.kernels.words import pad


def _terms(texts: list[bytes]) -> Terms:
    lengths = np.array([len(text) for text in texts], np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    return Terms(pad(texts), starts, lengths, np.zeros(len(texts), np.uint64), np.zeros(len(texts), np.uint8))


def test_forged_hashes_decide_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With two bits of hash left nearly all terms collide; bytes still decide."""
    monkeypatch.setattr(hashing, "HASH_MASK", np.uint64(3) << np.uint64(40))
    for number in range(seed, seed + 3):
        queries, publications = random_case(number)
        assert match_all(queries, publications) == expected(queries, publications)


def test_rendering_is_json_dumps() -> None:
    texts = ['"a"', '"\\"\\\\"', '"tab\\t"', "".join(map(chr, range(1, 0x30))), '"é€😀\x7f"', "_:b", "<http://e/>"]
    terms = _terms([text.encode() for text in texts])
    names = [b'"v":"', '"\u00fc":"'.encode()]
    answers = Answers(
        np.array([0, 2], np.int32),
        np.array([1, 0], np.int32),
        np.cumsum([0, *map(len, names)]).astype(np.int32),
        np.frombuffer(bytearray(b"".join(names)), np.uint8),
        np.zeros(1, np.uint8),
    )
    cells = np.arange(len(texts) * 2, dtype=np.int32) % len(texts)
    rows = np.arange(0, len(cells), 2, dtype=np.int64)
    lengths = np.full(len(texts), -1, np.int32)
    bounds = [0, 3, len(rows)]
    sizes = [sheet_size(answers, 0, rows[start:end], cells, terms, lengths) for start, end in pairwise(bounds)]
    sheets = Sheets(
        np.zeros(0, np.int32),
        np.zeros(2, np.int32),
        np.array(bounds, np.int64),
        rows,
        cells,
        np.array(sizes, np.int64),
        0,
    )
    limits = SheetLimits(1 << 20, 1 << 20, np.zeros(1, np.int64), np.zeros(0, np.uint8))
    text, offsets = render_sheets(sheets, answers, terms, limits)
    wanted = [{"v": texts[cells[row + 1]], "ü": texts[cells[row]]} for row in rows]
    for sheet, part in enumerate((wanted[:3], wanted[3:])):
        assert offsets[sheet + 1] - offsets[sheet] == sizes[sheet]
        written = text[offsets[sheet] : offsets[sheet + 1]].tobytes().decode()
        assert written == json.dumps(part, ensure_ascii=False, separators=(",", ":"))


def test_gather_takes_slices_in_any_order() -> None:
    source = np.frombuffer(bytearray(b"abcdef"), np.uint8)
    text = np.zeros(6, np.uint8)
    starts, lengths, places = ([4, 0, 2, 2], [2, 1, 0, 3], [4, 3, 3, 0])
    gather(source, *(np.array(each, np.int64) for each in (starts, lengths)), text, np.array(places, np.int64))
    assert text.tobytes() == b"cdeaef"


def test_strings_order_by_code_point() -> None:
    values = [
        "",
        "a",
        "A",
        "é",
        "e\u0301",
        'a"',
        "a\\",
        "a\n",
        "a\t",
        "a\x01",
        "ab",
        "a\U0001f600",
        "a\uffff",
        "a\x7f",
        "a ",
    ]

    texts = [str(Literal(value)).encode() for value in values]
    terms = _terms(texts)
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            order = compare_strings(terms.text, terms.start[i], terms.text, terms.start[j])
            assert order == (left > right) - (left < right), (left, right)


def test_equal_rows_are_grouped_whatever_their_hashes(seed: int) -> None:
    source = random.Random(seed)
    rows = [[source.randrange(3) for _ in range(source.randrange(4))] for _ in range(500)]
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    number, first = group_equal_rows(offsets, np.array([cell for row in rows for cell in row], np.int32))
    distinct = list(dict.fromkeys(map(tuple, rows)))
    assert [rows[at] for at in first] == [list(row) for row in distinct]
    assert number.tolist() == [distinct.index(tuple(row)) for row in rows]


def test_output_grows_beyond_its_first_size() -> None:
    """7,000 matches of one publication, with and without conditions, and an answer of 2,000 rows."""
    queries = registrations(
        *("SELECT ?x { ?x e:p ?y FILTER(?y >= 0) }" for _ in range(3500)),
        *("SELECT * { ?x e:p 1 }" for _ in range(3500)),
        "SELECT * { ?x e:q ?y }",
    )
    turtle = "e:a e:p 1 . " + " ".join(f"e:a e:q {number} ." for number in range(2000))
    found = match_all(queries, [publication(turtle)])
    assert len(found) == 7001
    assert found[0, 3500] == found[0, 3501] == b'[{"x":"<http://e/a>"}]'
    assert found[0, 7001] == expected(queries[-1:], [publication(turtle)])[0, 7001]
