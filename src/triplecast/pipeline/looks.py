"""Look for news again and again, at a pace that leaves the machine to others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LOOK_SECONDS = 0.2
"""Between two looks at inbox or subscriptions."""


def look_again(ending: threading.Event, look: Callable[[], bool], pause: Callable[[float], bool] | None = None) -> None:
    """Look until the end; after a look that took nothing, rest at least five times as long as it lasted. `pause` spends
    a rest and returns whether the end has come."""
    pause = pause or ending.wait
    rest = LOOK_SECONDS
    while not pause(rest):
        began = time.monotonic()
        took = look()
        rest = LOOK_SECONDS if took else max(LOOK_SECONDS, 5 * (time.monotonic() - began))
