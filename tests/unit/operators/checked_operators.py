"""Operators that look at constant arguments when a query is subscribed."""

from __future__ import annotations

import time

from pyoxigraph import Literal

from triplecast.operators import PublicationView, Unanswerable, operator

CHECKED = "https://example.org/checked#"
ASKED: list[object] = []
"""Of this process."""


def check_places(*places: object) -> None:
    ASKED.append(places)
    for place in places:
        if isinstance(place, Literal) and place.value not in ("here", "there"):
            raise Unanswerable(f"no place is called {place.value!r}; write 'here' or 'there'")


def check_and_fail(place: object) -> None:
    raise ValueError("the check itself is wrong")


def check_for_ever(place: object) -> None:
    time.sleep(60)


def check_and_count(first: object, second: object) -> None:
    ASKED.append(first)
    raise Unanswerable(f"asked {len(ASKED)} times; ask less")


@operator(CHECKED + "near", version="1", arguments=("bound", "bound"), check=check_places)
def near(event: PublicationView, place: object, other: object) -> bool:
    return True


@operator(CHECKED + "name", version="1", arguments=("bound", "free"), check=check_places)
def name(event: PublicationView, place: object) -> str:
    return "a name"


@operator(CHECKED + "broken", version="1", arguments=("bound",), check=check_and_fail)
def broken(event: PublicationView, place: object) -> bool:
    return True


@operator(CHECKED + "stuck", version="1", arguments=("bound",), check=check_for_ever, seconds=0.3)
def stuck(event: PublicationView, place: object) -> bool:
    return True


@operator(CHECKED + "counts", version="1", arguments=("bound", "bound"), check=check_and_count)
def counts(event: PublicationView, first: object, second: object) -> bool:
    return True


@operator(CHECKED + "unchecked", version="1", arguments=("bound",))
def unchecked(event: PublicationView, place: object) -> bool:
    return True
