"""Names that a reader has met, in whatever order it met them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from triplecast.model.subscription import NamedRegistrations
from triplecast.outbox import stored_names
from triplecast.outbox.read_names import ReadNames
from triplecast.outbox.tables import OUTBOX
from triplecast.sqlite import SqliteFile


def test_names_are_found_whatever_the_order_in_which_they_were_read(seed: int) -> None:
    random = Random(seed)
    names, known = ReadNames(), dict[int, tuple[str, str | None]]()
    for _ in range(200):
        asked = np.array(sorted(random.sample(range(500), random.randrange(20))), np.int64)
        new = names.missing(asked).tolist()
        assert new == [number for number in asked.tolist() if number not in known]
        random.shuffle(new)
        found = [(number, f"s{number}", random.choice((None, f"o{number % 3}"))) for number in new]
        names.add(found)
        known.update((number, (name, owner)) for number, name, owner in found)
        assert names.of(asked) == [known[number] for number in asked.tolist()]
        places = names.places(asked).tolist()
        assert [names.subscriptions[place] for place in places] == [known[number][0] for number in asked.tolist()]
    assert len(names.subscriptions) == len(names.owners) == len(known) > 400


def test_names_are_read_with_those_that_were_written_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_names, "KEYS_AT_ONCE", 2)
    owned = NamedRegistrations(1, ["s", 'ü\u2028"', "x/y.rq"], ["ada", None, ""])
    alike = NamedRegistrations(1 << 40, ["a", "b"], ["ada", "ada"])
    database = SqliteFile.writer(None, OUTBOX)
    with database.write():
        ranges = stored_names.write_names(database, [owned, alike])
        stored_names.write_names(database, [NamedRegistrations(3, ["another"], [None])])
    assert ranges == stored_names.named_ranges(database) == [range(1, 4), range(1 << 40, (1 << 40) + 2)]
    names = [(1, "s", "ada"), (2, 'ü\u2028"', None), (3, "x/y.rq", ""), (1 << 40, "a", "ada"), (2**40 + 1, "b", "ada")]
    assert stored_names.read_names(database, [1, 2, 3, 5, 1 << 40]) == names
    assert stored_names.read_names(database, [2]) == names[:3]
    assert stored_names.find_names(database, None, "ada") == [1, 1 << 40, (1 << 40) + 1]
    assert stored_names.find_names(database, "b", "ada") == [(1 << 40) + 1]
    assert stored_names.check_names(database) == {number for number, _, _ in names}
    database.close()
