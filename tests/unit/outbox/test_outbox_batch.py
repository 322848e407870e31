"""What an outbox batch accepts, and how batches join."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from outbox_samples import batch

from triplecast.model.match import MatchedBatch, Undecided
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxBatch, PublicationName


def test_a_batch_is_made_of_publications_and_their_matches() -> None:
    publications = [
        Publication(5, "urn:a", 1, "t5", b""),
        Publication(6, "urn:nothing", 1, "t6", b""),
        Publication(7, "urn:b", 3, "t7", b""),
    ]
    matched = MatchedBatch(
        np.array([0, 2], np.int32),
        np.array([2, 2], np.int64),
        np.array([0, 2, 4], np.int64),
        np.frombuffer(b"[][]", np.uint8),
        (Undecided(2, 3, "why"),),
    )
    made = OutboxBatch.of(publications, matched)
    assert made.publications == ((5, "urn:a", 1, "t5"), (7, "urn:b", 3, "t7"))
    assert made.rows() == [(5, 2, 0, "[]"), (7, 2, 0, "[]")]
    assert made.undecided == ((7, 3, "why"),)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("publications", (PublicationName(2, "urn:a", 1, ""), PublicationName(1, "urn:a", 2, "")), "increase"),
        ("position", np.array([2, 1], np.int64), "sorted"),
        ("position", np.array([1, 3], np.int64), "does not have"),
        ("position", np.array([1, 1], np.int64), "sorted"),
        ("registration", np.array([1], np.int64), "one registration"),
        ("bindings_offsets", np.array([0, 1], np.int64), "slice"),
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
    assert joined.undecided == ((1, 8, "slow"), (5, 1, "late"))
    assert len(OutboxBatch.joined([]).publications) == 0


def test_a_batch_is_cut_between_positions() -> None:
    whole = batch([(1, 5, "[1]"), (2, 4, "[ä]"), (2, 9, "[3]"), (4, 5, "[4]")], [(1, 8, "slow")], [(4, 7)])
    assert whole.between(0, 1).rows() == [(1, 5, 0, "[1]")]
    later = whole.between(1, 9)
    assert later.rows() == [(2, 4, 0, "[ä]"), (2, 9, 0, "[3]"), (4, 5, 0, "[4]")]
    assert (later.undecided, later.awaited) == ((), ((4, 7, ""),))
    assert whole.between(9, 9).rows() == []


def test_a_digest_tells_rows_apart_but_not_where_they_stand() -> None:
    first = batch([(1, 5, "[ab]"), (1, 6, "[c]")])
    shifted = batch([(1, 4, "[x]"), (3, 5, "[ab]"), (3, 6, "[c]")])
    assert first.digests()[1] == shifted.digests()[3] != shifted.digests()[1]
    for other in ([(1, 5, "[a]"), (1, 6, "b[c]")], [(1, 5, "[ab]"), (1, 7, "[c]")], [(1, 5, "[ab]"), (1, 6, "[d]")]):
        assert batch(other).digests()[1] != first.digests()[1]
