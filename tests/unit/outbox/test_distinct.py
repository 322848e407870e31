from __future__ import annotations

from random import Random

import numpy as np
import pytest

from triplecast.outbox import distinct
from triplecast.outbox.distinct import KnownNumbers


@pytest.mark.parametrize("new", [0, 5, 1_000])
def test_it_is_a_set(new: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ranges that do not overlap, some of which come twice, in any order; however many may be new."""
    monkeypatch.setattr(distinct, "_NEW", new)
    random = Random(seed)
    ends = [*sorted(random.sample(range(1, 2_000), 80)), 1 << 40, (1 << 40) + 3]
    ranges = [range(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True)]
    known: set[int] = set()
    numbers = KnownNumbers(())
    for _ in range(200):
        asked = [random.randrange(1 << random.randrange(1, 42)) for _ in range(random.randrange(9))]
        asked += random.sample(sorted(known), min(3, len(known)))
        asked += [random.choice((each.start, each.stop - 1, each.stop)) for each in random.sample(ranges, 5)]
        missing = numbers.missing(np.array(asked, np.int64))
        assert missing.tolist() == sorted({*asked} - known)
        some = random.sample(ranges, random.randrange(3))
        numbers.add(some)
        known.update(number for each in some for number in each)
    assert len(known) > 500
    assert KnownNumbers(ranges).missing(np.array([ranges[0].start, 0, 0], np.int64)).tolist() == [0]
