"""What an outbox batch accepts, and how batches join."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from outbox_samples import batch

from triplecast.model.match import MatchedBatch, Undecided
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxBatch


def test_a_batch_is_made_of_publications_and_their_matches() -> None:
    publications = [Publication(5, "urn:a", 1, "t5", b""), Publication(7, "urn:b", 3, "t7", b"")]
    matched = MatchedBatch(
        np.array([0, 1], np.int32),
        np.array([2, 2], np.int64),
        np.array([0, 2, 4], np.int64),
        np.frombuffer(b"[][]", np.uint8),
        (Undecided(1, 3, "why"),),
    )
    made = OutboxBatch.of(publications, matched)
    assert made.positions.tolist() == [5, 7]
    assert (made.graphs, made.versions, made.accepted_at) == (("urn:a", "urn:b"), (1, 3), ("t5", "t7"))
    assert list(made.texts(0)) == ["[]", "[]"]
    assert made.undecided == matched.undecided


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("positions", np.array([2, 1], np.int64), "increase"),
        ("graphs", ("urn:a",), "one graph"),
        ("publication", np.array([1, 0], np.int32), "sorted"),
        ("publication", np.array([0, 2], np.int32), "does not have"),
        ("publication", np.array([0, 0], np.int32), "sorted"),
        ("registration", np.array([1], np.int64), "one registration"),
        ("bindings_offsets", np.array([0, 1], np.int64), "slice"),
        ("undecided", (Undecided(2, 1, "why"),), "does not have"),
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
    assert joined.positions.tolist() == [1, 2, 4, 5]
    assert joined.publication.tolist() == [0, 1, 1, 2]
    assert joined.registration.tolist() == [5, 4, 9, 5]
    assert list(joined.texts(0)) == ["[1]", "[ä]", "[3]", "[4]"]
    assert joined.undecided == (Undecided(0, 8, "slow"), Undecided(3, 1, "late"))
    assert (joined.publication.dtype, joined.positions.dtype) == (np.int32, np.int64)
    assert len(OutboxBatch.joined([]).positions) == 0


def test_a_digest_tells_rows_apart_but_not_where_they_stand() -> None:
    first = batch([(1, 5, "[ab]"), (1, 6, "[c]")])
    shifted = batch([(1, 4, "[x]"), (3, 5, "[ab]"), (3, 6, "[c]")])
    assert first.digest(0, 2) == shifted.digest(1, 3)
    for other in ([(1, 5, "[a]"), (1, 6, "b[c]")], [(1, 5, "[ab]"), (1, 7, "[c]")], [(1, 5, "[ab]"), (1, 6, "[d]")]):
        assert batch(other).digest(0, 2) != first.digest(0, 2)
