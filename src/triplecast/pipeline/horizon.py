"""How far the next batch may go: written for the source's process, to one small file that is replaced whole.

The journal says which publications there are; the horizon says which index answers for them. It is no state of
record: a run writes it anew before its first batch.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import NamedTuple

from triplecast.index import Snapshot
from triplecast.storage_faults import storage_faults

FILE = "horizon.json"

SMALLEST, LARGEST = 512, 32_768
"""Journal positions a batch may span from its first publication on: what each batch costs whatever it holds (0.3 s on
an idle machine, 2 s on a busy one) must not come to be most of it.
"""

ROWS = 1_000_000
"""Notifications that a batch may come to by what the last one gave: they are in memory until they are committed."""

BATCH_SECONDS = 2.5
"""How long a batch of a backlog should take: short enough to watch."""


class Horizon(NamedTuple):
    manifest: str
    """The newest index, by the name of its manifest."""
    covers: int
    """It holds every registry record up to this position."""
    batch: int
    """Journal positions that the next batch may span from its first publication on."""


def read_horizon(folder: Path) -> Horizon | None:
    """The driver's last word; None before its first."""
    try:
        return Horizon(**json.loads((folder / FILE).read_bytes()))
    except FileNotFoundError:
        return None


def next_end(start: int, first: int | None, head: int, change: int | None, batch: int) -> int:
    """Where a batch after position `start` may end: all that is there, but at most `batch` positions from `first`,
    the next publication, on, and never at or past `change`, the first registry record that the index does not hold;
    `start` itself when nothing may be matched yet.
    """
    end = head if first is None else min(head, first - 1 + batch)
    if change is not None:
        end = min(end, change - 1)
    return max(end, start)


def next_batch(batch: int, publications: int, rows: int, seconds: float) -> int:
    """The span to try after a batch of `publications` gave `rows` in `seconds`; one not full teaches little."""
    if seconds > BATCH_SECONDS:
        wanted = publications * BATCH_SECONDS / seconds
    elif publications > batch // 2:
        wanted = batch * min(2.0, BATCH_SECONDS / max(seconds, 0.001))
    else:
        wanted = batch
    most = ROWS * publications // max(rows, 1) if publications else LARGEST
    return max(1, min(LARGEST, most, max(SMALLEST, round(wanted))))


class HorizonFile:
    """The writing side: two threads move it, the registry's the index and the sink the span."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._now: Horizon | None = None
        self._path.unlink(missing_ok=True)

    @property
    def now(self) -> Horizon | None:
        return self._now

    def cover(self, manifest: str, covers: int) -> None:
        """A new index, which must be on disk before this is called."""
        with self._lock:
            self._write(Horizon(manifest, covers, self._now.batch if self._now else SMALLEST))

    def cover_snapshot(self, snapshot: Snapshot) -> None:
        """The same, of the snapshot that the registry published."""
        self.cover(snapshot.manifest, snapshot.covers)

    def learn(self, publications: int, rows: int, seconds: float) -> None:
        """Adapt the span to what a batch took."""
        with self._lock:
            if self._now is not None:
                batch = next_batch(self._now.batch, publications, rows, seconds)
                if batch != self._now.batch:
                    self._write(self._now._replace(batch=batch))

    def _write(self, horizon: Horizon) -> None:
        temporary = self._path.with_suffix(".tmp")
        with storage_faults(self._path):
            temporary.write_text(json.dumps(horizon._asdict()))
            os.replace(temporary, self._path)
        self._now = horizon
