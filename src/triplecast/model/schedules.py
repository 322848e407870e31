"""In which order operators may be evaluated, by name (docs/schedules.md): the answers are the same under each."""

from __future__ import annotations

from triplecast.errors import InputError

SCHEDULE = "adaptive"
"""Unless another is named."""
SCHEDULES = ("adaptive", "sub-order", "stopping", "sequential", "naive")


def check_schedule(name: str) -> str:
    """The same name. Raises `InputError` for one that is none."""
    if name not in SCHEDULES:
        raise InputError(f"no schedule is called {name!r}", f"name one of {', '.join(SCHEDULES)}, or none")
    return name
