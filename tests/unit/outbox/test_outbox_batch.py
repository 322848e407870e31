"""What an outbox batch accepts, and how batches join."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from outbox_samples import batch

from triplecast.model.match import CHANGES, MatchedBatch, Undecided
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxBatch, PublicationName
from triplecast.outbox.chunk import digests_of, read_chunk, write_chunk


def test_a_batch_is_made_of_publications_and_their_matches() -> None:
    publications = [
        Publication(5, "urn:a", 1, "t5", b""),
        Publication(6, "urn:nothing", 1, "t6", b""),
        Publication(7, "urn:b", 3, "t7", b""),
    ]
    matched = MatchedBatch(
        np.array([0, 2], np.int32),
        np.array([2, 2], np.int64),
        np.array([1, 0], np.int32),
        np.array([0, 2, 4], np.int64),
        np.frombuffer(b"[]{}", np.uint8),
        (Undecided(0, 9, "why", by_removal=True), Undecided(2, 3, "why")),
    )
    made = OutboxBatch.of(publications, matched)
    assert made.publications == ((5, "urn:a", 1, "t5"), (7, "urn:b", 3, "t7"))
    assert made.rows() == [(5, 2, 0, "{}"), (7, 2, 0, "[]")]
    assert made.undecided == (PairReason(5, 9, "why", by_removal=True), PairReason(7, 3, "why"))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("publications", (PublicationName(2, "urn:a", 1, ""), PublicationName(1, "urn:a", 2, "")), "increase"),
        ("position", np.array([2, 1], np.int64), "sorted"),
        ("position", np.array([1, 3], np.int64), "does not have"),
        ("position", np.array([1, 1], np.int64), "sorted"),
        ("registration", np.array([1], np.int64), "one registration"),
        ("sheet", np.array([0, 2], np.int32), "sheet"),
        ("sheet", np.array([0], np.int32), "one registration"),
        ("undecided", (PairReason(3, 1, "why"),), "does not have"),
    ],
)
def test_a_malformed_batch_is_refused(field: str, value: object, message: str) -> None:
    sound = batch([(1, 5, "[]"), (2, 5, "[]")])
    with pytest.raises(ValueError, match=message):
        replace(sound, **{field: value})


def test_batches_join_in_order_of_position() -> None:
    early = batch([(1, 5, "[1]"), (2, 4, "[ä]"), (2, 9, "[3]")], [(1, 8, "slow")])
    late = batch([(4, 5, "[4]")], [(5, 1, "late")])
    joined = OutboxBatch.joined([late, batch([]), early])
    assert [name.position for name in joined.publications] == [1, 2, 4, 5]
    assert joined.rows() == [(1, 5, 0, "[1]"), (2, 4, 0, "[ä]"), (2, 9, 0, "[3]"), (4, 5, 0, "[4]")]
    assert joined.undecided == (PairReason(1, 8, "slow"), PairReason(5, 1, "late"))
    assert len(OutboxBatch.joined([]).publications) == 0


def test_a_batch_is_cut_between_positions() -> None:
    whole = batch([(1, 5, "[1]"), (2, 4, "[ä]"), (2, 9, "[3]"), (4, 5, "[4]")], [(1, 8, "slow")], [(4, 7)])
    assert whole.between(0, 1).rows() == [(1, 5, 0, "[1]")]
    later = whole.between(1, 9)
    assert later.rows() == [(2, 4, 0, "[ä]"), (2, 9, 0, "[3]"), (4, 5, 0, "[4]")]
    assert (later.undecided, later.awaited) == ((), (PairReason(4, 7),))
    assert whole.between(9, 9).rows() == []


def test_a_digest_tells_rows_apart_but_not_where_they_stand() -> None:
    first = batch([(1, 5, "[ab]"), (1, 6, "[c]")])
    shifted = batch([(1, 4, "[x]"), (3, 5, "[ab]"), (3, 6, "[c]")])
    assert digests_of(first)[0] == digests_of(shifted)[1] != digests_of(shifted)[0]
    for other in ([(1, 5, "[a]"), (1, 6, "b[c]")], [(1, 5, "[ab]"), (1, 7, "[c]")], [(1, 5, "[ab]"), (1, 6, "[d]")]):
        assert digests_of(batch(other))[0] != digests_of(first)[0]


def test_a_digest_does_not_depend_on_how_rows_share_sheets() -> None:
    alone = batch([(1, 5, "[ab]"), (1, 6, "[c]"), (1, 7, "[ab]")], [(2, 1, "slow")])
    shared = replace(
        alone, sheet=np.array([1, 0, 1], np.int32), offsets=np.array([0, 3, 7]), bindings=to_bytes("[c][ab]")
    )
    assert shared.rows() == alone.rows()
    assert digests_of(alone).tolist() == digests_of(shared).tolist() == [digests_of(shared)[0], 0]


@pytest.mark.parametrize("point", range(30))
def test_a_chunk_is_read_as_it_was_written(point: int) -> None:
    chance = random.Random(f"chunk {point}")
    rows = [
        (position, registration, chance.choice(["[]", "[{}]", '[{"x":"<urn:ä🙂>"}]', "x" * chance.randrange(99)]))
        for position in sorted(chance.sample(range(1, 2**50), chance.randrange(6)))
        for registration in sorted(chance.sample(range(1, chance.choice((9, 2**31, 2**40))), chance.randrange(4)))
    ]
    made = batch(rows, [(2**51, 3, "slow")] * chance.randrange(2))
    made = replace(made, change=np.array([chance.randrange(len(CHANGES)) for _ in rows], np.uint8), undecided=())
    read = read_chunk(write_chunk(made, digests_of(made)))
    assert (read.batch().publications, read.batch().rows()) == (made.publications, made.rows())
    assert read.digests.tolist() == digests_of(made).tolist()


def test_rows_are_cut_with_the_sheets_that_they_need() -> None:
    chance = random.Random(5)
    rows = [(position, registration, f"[{position % 3}]" * 9) for position in range(1, 40) for registration in (1, 2)]
    whole = batch(rows)
    for size in (1, 60, 200, 10_000):
        pieces = list(whole.cut(size))
        assert [row for piece in pieces for row in piece.rows()] == whole.rows()
        assert all(len(piece.publications) == 1 or int(piece.offsets[-1]) <= size for piece in pieces)
    kept = np.array([chance.random() < 0.5 for _ in rows])
    assert whole.only(kept).rows() == [row for row, keep in zip(whole.rows(), kept, strict=True) if keep]


def to_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)
