"""The subscriptions of files: which of them can be asked, and why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace

from triplecast.compile.admission import admit
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.ingest.subscription_files import LoadedSubscriptions, SubscriptionFault
from triplecast.model.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Admitted:
    """Subscriptions that can be asked, and why the others cannot; registration i + 1 is subscription i."""

    subscriptions: tuple[Subscription, ...]
    faults: tuple[SubscriptionFault, ...] = ()


def admit_all(loaded: LoadedSubscriptions, datasets: bool = True) -> Admitted:
    """Those of some files that can be asked; the faults are those of the files, then those of the queries (`admit`)."""
    taken: list[Subscription] = []
    faults = [*loaded.faults]
    for subscription, place in zip(loaded.subscriptions, loaded.places, strict=True):
        fault = find_fault(subscription, place, datasets)
        if fault is None:
            taken.append(subscription)
        else:
            faults.append(fault)
    return Admitted(tuple(taken), tuple(faults))


def find_fault(subscription: Subscription, place: str, datasets: bool = True) -> SubscriptionFault | None:
    """Why the subscription that stands at `place` cannot be asked; None when it can.

    The place of the fault goes on with the line and the column in the query's text.
    """
    try:
        admit(subscription, datasets)
    except QuerySyntaxError as error:
        shown = str(replace(error, name=place, expected=()))
        _, _, reason = shown.removeprefix(f"{place}:").partition(" ")
        wanted = f"expected: {', '.join(error.expected)}" if error.expected else "correct the query"
        return SubscriptionFault(f"{place}:{error.line}:{error.column}", reason, wanted)
    except QueryRefused as error:
        where = place if error.line is None else f"{place}:{error.line}:{error.column}"
        return SubscriptionFault(where, f"{error.construct} is refused: {error.reason}", error.mend)
    return None
