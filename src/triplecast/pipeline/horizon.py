"""How far the next batch may go. The journal says which publications there are; the horizon says which index answers
for them."""

from __future__ import annotations

import threading
from typing import NamedTuple

SMALLEST, LARGEST = 512, 32_768
"""Journal positions a batch may span from its first publication on: what each batch costs whatever it holds (0.03 s on
an idle machine, more on a busy one) must not come to be most of it.
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


class MovingHorizon:
    """The horizon of a run: the registry's thread moves the index, the sink the span; whoever plans reads `now`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news = threading.Event()
        self.now: Horizon | None = None

    def cover(self, manifest: str, covers: int) -> None:
        """A new index, which must be on disk before this is called."""
        with self._lock:
            self.now = Horizon(manifest, covers, self.now.batch if self.now else SMALLEST)
        self.wake()

    def learn(self, publications: int, rows: int, seconds: float) -> None:
        """Adapt the span to what a batch took."""
        with self._lock:
            if self.now is not None:
                self.now = self.now._replace(batch=next_batch(self.now.batch, publications, rows, seconds))

    def wake(self) -> None:
        """End a wait: there is something to plan."""
        self._news.set()

    def wait(self, seconds: float) -> None:
        """Return after so many seconds, or when somebody has called `wake` since the last wait."""
        self._news.wait(seconds)
        self._news.clear()
