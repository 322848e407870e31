"""Notifications as Arrow say what notifications say."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from outbox_samples import batch

from tests.unit.outbox.test_outbox_filters import names as names_of
from triplecast.model.match import CHANGES
from triplecast.outbox import Outbox, chunks, reader

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("number", range(8))
def test_columns_hold_what_notifications_hold(
    number: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed + number)
    monkeypatch.setattr(reader, "_PAGE_CHUNKS", random.randrange(1, 6))
    monkeypatch.setattr(chunks, "MERGED", random.randrange(2, 5))
    with Outbox.open(tmp_path) as outbox:
        for upto in range(5, 40, 5):
            pairs = {(random.randrange(upto - 4, upto + 1), random.randrange(1, 12)) for _ in range(9)}
            rows = batch([(*pair, random.choice(("[{}]", '[{"é":"<urn:a>"}]'))) for pair in sorted(pairs)])
            rows.change[:] = np.array([random.randrange(len(CHANGES)) for _ in rows.change], np.uint8)
            outbox.commit(rows, upto, names_of)
        since, limit = random.randrange(30), random.choice((None, 1, 20))
        wanted = random.choice(((None, None), ("s1", None), (None, "ada"), ("s9", None)))
        told = list(outbox.notifications(since, limit, *wanted))
        tables = list(outbox.notification_batches(since, limit, *wanted))
        names = reader_columns(tables)
        found = [row for table in tables for row in table.to_pylist()]
        assert found == [{name: getattr(each, name) for name in names} for each in told]
        assert {table.schema.metadata[b"epoch"] for table in tables} <= {str(outbox.state.epoch).encode()}
        for table in tables:
            table.validate(full=True)


def reader_columns(tables: list[pa.RecordBatch]) -> list[str]:
    return tables[0].schema.names if tables else []
