from __future__ import annotations

import random

import numpy as np

from triplecast.index import Snapshot
from triplecast.index.registrations import NO_REMOVALS
from triplecast.match.segment import Validity
from triplecast.model.publication import Publication


def test_a_registration_is_asked_between_its_position_and_its_removal(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(50):
        last = source.choice((3, 40, 3_000))
        removed = {id: id + source.randint(1, 9) for id in source.sample(range(last), source.randint(0, last // 2))}
        positions = sorted(source.choices(range(last + 10), k=source.randint(1, 5)))
        validity = Validity(
            Snapshot(last, (), NO_REMOVALS.joined([*removed.items()])),
            [Publication(position, "urn:x", 1, "", b"") for position in positions],
        )
        pairs = [(source.randrange(len(positions)), source.randrange(last)) for _ in range(200)]
        publication, registration = np.array(pairs, np.int64).T
        wanted = [id < positions[at] < removed.get(id, 2**62) for at, id in pairs]
        assert validity.holds(publication.astype(np.int32), registration).tolist() == wanted
