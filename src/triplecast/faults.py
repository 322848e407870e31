"""Named crash points: places where a test may kill this process as `kill -9` would, or stop it as SIGSTOP does.

A point is armed by the environment variable ``TRIPLECAST_CRASH`` (``"journal.appended:3"``: the third time that this
process reaches the point; 1 when the number is left out). An armed point appends its name to the file named by
``TRIPLECAST_CRASH_LOG``, so that a test can count its hits, and sends SIGKILL to its own process: no handler, no
``finally`` and no buffer runs after it. With ``:stop`` at its end (``"journal.appended:3:stop"``) the process is
stopped there instead, until somebody continues it. Unarmed, `reach` does nothing.
"""

from __future__ import annotations

import os
import signal
from itertools import count

POINTS = (
    "source.planned",
    "inbox.taken",
    "journal.before-append",
    "journal.appended",
    "journal.committed",
    "journal.results-kept",
    "index.segment-written",
    "index.manifest-temporary",
    "index.manifest-replaced",
    "pipeline.batch-matched",
    "pipeline.batch-returned",
    "pipeline.operators-asked",
    "outbox.rows-written",
    "outbox.position-written",
    "outbox.committed",
    "outbox.some-wait",
    "outbox.pruned",
)
"""Every name that `reach` is called with."""

_armed, _count, _way, *_ = [*os.environ.get("TRIPLECAST_CRASH", "").split(":"), "", ""]
_hits = count(1)
_last = int(_count or 1)
_signal = signal.SIGSTOP if _way == "stop" else signal.SIGKILL
if _armed and _armed not in POINTS:
    raise ValueError(f"TRIPLECAST_CRASH names no crash point: {_armed!r}; known are {', '.join(POINTS)}")


def reach(name: str) -> None:
    """Ends or stops this process here and now if the environment armed `name` and this is the hit it asked for."""
    if name == _armed and next(_hits) == _last:
        log = os.environ.get("TRIPLECAST_CRASH_LOG")
        if log:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.write(descriptor, f"{name}\n".encode())
            os.fsync(descriptor)
        os.kill(os.getpid(), _signal)
