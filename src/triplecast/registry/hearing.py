"""What a subscription wants to hear: as it says, or as a comment above its query says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecast.errors import QueryRefused
from triplecast.languages import directives
from triplecast.model.algebra import Query
from triplecast.model.subscription import INITIAL, NEW, NOTIFY, PUBLICATION, Subscription


def settle_hearing(subscription: Subscription, query: Query) -> Subscription:
    """The subscription with what a comment above its query says of `notify`, `initial` and `key`, unless it says so
    itself. Raises `QueryRefused` for what is unknown, and for a key that its rows cannot have."""
    text = subscription.text
    if subscription.notify is subscription.initial is None and not subscription.key and "triplecast:" not in text:
        return subscription
    stated = directives(text)
    notify = _known("notify", subscription.notify or stated.get("notify"), NOTIFY)
    initial = _known("initial", subscription.initial or stated.get("initial"), INITIAL)
    key = subscription.key or tuple(filter(None, stated.get("key", "").split("+")))
    if key:
        _check_key(key, replace(subscription, notify=notify), query)
    return replace(subscription, notify=notify, initial=initial, key=key)


def _known(what: str, said: str | None, known: Sequence[str]) -> str | None:
    if said is not None and said not in known:
        raise QueryRefused(f"{what} {said}", "it is unknown", f"use one of {', '.join(known)}")
    return said


def _check_key(key: tuple[str, ...], subscription: Subscription, query: Query) -> None:
    written, hears = ", ".join(key), subscription.hears
    if hears == NEW or (hears != "changed" and subscription.scope == PUBLICATION):
        reason = f"a row is updated only for who hears what changed, and this one hears {hears}"
        raise QueryRefused(f"key {written}", reason, 'leave the key out, or use notify="changed"')
    names = [variable.name for variable in query.variables] if query.form == "select" else []
    for name in key:
        if name not in names:
            selected = f"it selects {', '.join(names)}" if names else "it selects none"
            raise QueryRefused(f"key {name}", "it is no variable that the query selects", selected)
