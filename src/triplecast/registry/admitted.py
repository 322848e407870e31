"""The subscriptions of files: which of them can be asked, and why the others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.model.counts import SubscriptionCounts
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import Admission, understand
from triplecast.registry.files import LoadedSubscriptions, SubscriptionFault

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
    standing: SubscriptionCounts = field(default_factory=SubscriptionCounts)


def admit_all(loaded: LoadedSubscriptions, datasets: bool = True, operators: OperatorSet = NO_OPERATORS) -> Admitted:
    """Those of some files that can be asked; the files' faults first, then those of the queries (`understand`)."""
    taken: list[Subscription] = []
    faults = [*loaded.faults]
    warnings: list[str] = []
    kinds: Counter[tuple[str, str]] = Counter()
    for subscription, place in zip(loaded.subscriptions, loaded.places, strict=True):
        found = examine(subscription, place, datasets, operators)
        if isinstance(found, SubscriptionFault):
            faults.append(found)
        else:
            taken.append(subscription)
            kinds[found.cost, found.decider] += 1
            warnings += describe_doubts(found, place)
    counts: Counter[str] = Counter()
    for (cost, decider), count in kinds.items():
        counts[cost] += count
        counts[decider] += count
    return Admitted(tuple(taken), tuple(faults), tuple(warnings), loaded.ignored, SubscriptionCounts(**counts))


def describe_doubts(admission: Admission, place: str) -> list[str]:
    """A line for each thing that the subscription at `place` says and hardly means; none about its cost."""
    return [f"{place}: note: {doubt}" for doubt in admission.doubts]


def first_of(warnings: Sequence[str]) -> list[str]:
    """The lines to tell: `WARNINGS_TOLD` of them, then how many more there are."""
    left = len(warnings) - WARNINGS_TOLD
    more = [f"{left} more notes on subscriptions; `triplecast preview` shows those of one"] if left > 0 else []
    return [*warnings[:WARNINGS_TOLD], *more]


def examine(
    subscription: Subscription, place: str, datasets: bool = True, operators: OperatorSet = NO_OPERATORS
) -> Admission | SubscriptionFault:
    """What is to be told of the subscription that stands at `place`, or why it cannot be asked.

    The place of the fault goes on with the line and the column in the query's text.
    """
    try:
        return understand(subscription, datasets, operators).admission
    except QuerySyntaxError as error:
        shown = str(replace(error, name=place, expected=()))
        _, _, reason = shown.removeprefix(f"{place}:").partition(" ")
        wanted = f"expected: {', '.join(error.expected)}" if error.expected else ""
        return SubscriptionFault(f"{place}:{error.line}:{error.column}", reason, wanted)
    except QueryRefused as error:
        return describe_refusal(error, place)


def describe_refusal(error: QueryRefused, place: str) -> SubscriptionFault:
    where = place if error.line is None else f"{place}:{error.line}:{error.column}"
    return SubscriptionFault(where, f"{error.construct} is refused: {error.reason}", error.hint)
