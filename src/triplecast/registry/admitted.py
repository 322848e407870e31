"""The subscriptions of files: which of them can be asked, and why the others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from triplecast.errors import InputError, QueryRefused, QuerySyntaxError
from triplecast.model.census import Census
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import Admission, examine
from triplecast.registry.files import LoadedSubscriptions
from triplecast.registry.lines import SubscriptionFault

WARNINGS_TOLD = 20
"""Of many subscriptions at once."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Subscriptions that can be asked, and why the others cannot; registration i + 1 is subscription i."""

    subscriptions: tuple[Subscription, ...]
    faults: tuple[SubscriptionFault, ...] = ()
    warnings: tuple[str, ...] = ()
    """`describe_doubts` of each."""
    ignored: tuple[str, ...] = ()
    """Files that were passed over (`FoundFiles.ignored`)."""
    standing: Census = field(default_factory=Census)


def admit_all(loaded: LoadedSubscriptions, datasets: bool = True) -> Admitted:
    """Those of some files that can be asked; the files' faults first, then those of the queries (`examine`)."""
    taken: list[Subscription] = []
    faults = [*loaded.faults]
    warnings: list[str] = []
    kinds: Counter[tuple[str, str]] = Counter()
    for subscription, place in zip(loaded.subscriptions, loaded.places, strict=True):
        try:
            admission = examine(subscription, datasets).admission
        except (QuerySyntaxError, QueryRefused) as error:
            faults.append(fault_of(error, place))
            continue
        taken.append(subscription)
        kinds[admission.cost, admission.decider] += 1
        warnings += describe_doubts(admission, place)
    counts: Counter[str] = Counter()
    for (cost, decider), count in kinds.items():
        counts[cost] += count
        counts[decider] += count
    return Admitted(tuple(taken), tuple(faults), tuple(warnings), loaded.ignored, Census(**counts))


def describe_doubts(admission: Admission, place: str) -> list[str]:
    """A line for each thing that the subscription at `place` says and hardly means; none about its cost."""
    return [f"{place}: note: {doubt}" for doubt in admission.doubts]


def first_of(warnings: Sequence[str]) -> list[str]:
    """The lines to tell: `WARNINGS_TOLD` of them, then how many more there are."""
    left = len(warnings) - WARNINGS_TOLD
    more = [f"{left} more notes on subscriptions; `triplecast preview` shows those of one"] if left > 0 else []
    return [*warnings[:WARNINGS_TOLD], *more]


def fault_of(error: QuerySyntaxError | QueryRefused | InputError, place: str) -> SubscriptionFault:
    """Why the subscription at `place` cannot be registered. The place goes on with line and column in its text."""
    if isinstance(error, QuerySyntaxError):
        shown = str(replace(error, name=place, expected=()))
        _, _, reason = shown.removeprefix(f"{place}:").partition(" ")
        wanted = f"expected: {', '.join(error.expected)}" if error.expected else ""
        return SubscriptionFault(f"{place}:{error.line}:{error.column}", reason, wanted)
    if isinstance(error, QueryRefused):
        where = place if error.line is None else f"{place}:{error.line}:{error.column}"
        return SubscriptionFault(where, f"{error.construct} is refused: {error.reason}", error.hint)
    return SubscriptionFault(place, error.what, error.hint)
