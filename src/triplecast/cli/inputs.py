"""The files that `match`, `explain` and `preview` are given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.terminal import say
from triplecast.errors import InputError

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.offline import Admitted


def load_admitted(paths: list[Path]) -> tuple[Admitted, int]:
    """The subscriptions that can be asked, and how many could not; each of those is told on stderr."""
    from triplecast.ingest.subscription_files import load_subscriptions
    from triplecast.offline import admit_all

    loaded = load_subscriptions(paths)
    admitted = admit_all(loaded.subscriptions)
    for fault in (*loaded.faults, *admitted.refused):
        say(str(fault))
    if not admitted.subscriptions:
        raise InputError("not one subscription can be asked", "mend those named above")
    return admitted, len(loaded.faults) + len(admitted.refused)


def choose_subscription(path: Path, name: str | None) -> Subscription:
    """The one subscription of a file, or the one called `name`. Raises InputError where there is not exactly one."""
    admitted, _ = load_admitted([path])
    chosen = [s for s in admitted.subscriptions if name is None or s.name == name]
    if len(chosen) != 1:
        wanted = f"no subscription {name}" if name else f"{len(chosen)} subscriptions"
        known = ", ".join(s.name for s in admitted.subscriptions[:5])
        raise InputError(f"{wanted} in {path}", f"name one with --id, e.g. {known}")
    return chosen[0]
