"""Named points at which a test can kill this process (SIGKILL) or stop it (SIGSTOP).

``TRIPLECAST_CRASH=journal.appended:3`` arms the third hit of a point in this process (``:3`` may be left out: the
first). An armed point appends its name to the file ``TRIPLECAST_CRASH_LOG``, so that a test can count the hits, and
sends SIGKILL to its own process, after which no handler, ``finally`` or buffer runs. A third part ``:stop`` sends
SIGSTOP instead. Unarmed, `reach` does nothing.
"""

from __future__ import annotations

import os
import signal
from itertools import count

POINTS = (
    "inbox.taken",
    "journal.before-append",
    "journal.appended",
    "journal.committed",
    "journal.results-kept",
    "index.segment-written",
    "index.manifest-temporary",
    "index.manifest-replaced",
    "pipeline.batch-planned",
    "pipeline.batch-matched",
    "pipeline.batch-returned",
    "pipeline.operators-asked",
    "outbox.chunks-merged",
    "outbox.rows-written",
    "outbox.position-written",
    "outbox.committed",
    "outbox.some-wait",
    "outbox.pruned",
    "snapshots.written",
    "output.planned",
    "output.put",
    "kafka.taken",
    "kafka.sending",
    "kafka.sent",
    "local.taken",
    "local.committed",
    "taking.group-taken",
    "spark.order-kept",
    "spark.batch-published",
    "sources.fetched",
    "sources.taken",
    "sources.published",
    "sources.settled",
    "delivery.noted",
    "delivery.committed",
)
"""Every name that `reach` is called with."""

_armed, _count, _way, *_ = [*os.environ.get("TRIPLECAST_CRASH", "").split(":"), "", ""]
_hits = count(1)
_last = int(_count or 1)
_signal = signal.SIGSTOP if _way == "stop" else signal.SIGKILL
if _armed and _armed not in POINTS:
    raise ValueError(f"TRIPLECAST_CRASH names no crash point: {_armed!r}; use one of {', '.join(POINTS)}")


def reach(name: str) -> None:
    """Kill or stop this process if the environment armed this hit of point `name`."""
    if name == _armed and next(_hits) == _last:
        log = os.environ.get("TRIPLECAST_CRASH_LOG")
        if log:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.write(descriptor, f"{name}\n".encode())
            os.fsync(descriptor)
        os.kill(os.getpid(), _signal)
