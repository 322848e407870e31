from __future__ import annotations

from random import Random

import numpy as np

from triplecast.outbox.known_numbers import KnownNumbers


def test_it_is_a_set(seed: int) -> None:
    random = Random(seed)
    first = [random.randrange(1 << random.randrange(1, 40)) for _ in range(random.randrange(50))]
    known, numbers = set(first), KnownNumbers(first)
    for _ in range(300):
        asked = [random.randrange(1 << random.randrange(1, 40)) for _ in range(random.randrange(9))]
        asked += random.sample(sorted(known), min(3, len(known)))
        random.shuffle(asked)
        missing = numbers.missing(np.array(asked, np.int64))
        assert missing.tolist() == sorted({*asked} - known)
        if random.random() < 0.7:
            numbers.add(missing)
            known.update(missing.tolist())
