"""What a subscription wants to hear: as it says, or as a comment above its query says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from triplecast.errors import QueryRefused
from triplecast.languages import Template, directives
from triplecast.model.algebra import Query
from triplecast.model.subscription import INITIAL, NEW, NOTIFY, PUBLICATION, Subscription


def settle_hearing(subscription: Subscription, query: Query, compares: bool) -> Subscription:
    """The subscription with what a comment above its query says of `notify`, `initial` and `key`, unless it says so
    itself; `compares`: whether it calls ``tc:before``. Raises `QueryRefused` for what is unknown, for a key that its
    rows cannot have, and for ``tc:before`` without one."""
    text = subscription.text
    if (
        subscription.notify is subscription.initial is None
        and not (subscription.key or compares)
        and "triplecast:" not in text
    ):
        return subscription
    stated = directives(text)
    notify = _known("notify", subscription.notify or stated.get("notify"), NOTIFY)
    initial = _known("initial", subscription.initial or stated.get("initial"), INITIAL)
    key = subscription.key or tuple(filter(None, stated.get("key", "").split("+")))
    if compares and not key:
        reason = "it compares a row with the one before it that has the same key, and this one has no key"
        raise QueryRefused("tc:before", reason, 'give one: key=("item",), or a comment `# triplecast: key=item`')
    if key:
        _check_key(key, replace(subscription, notify=notify), query)
    return replace(subscription, notify=notify, initial=initial, key=key)


def refuse_updates(template: Template, name: str | None) -> None:
    """Raises `QueryRefused` for ``tc:before`` where each document is matched by itself."""
    if template.updates:
        reason = "no version is compared with the one before it here"
        raise QueryRefused("tc:before", reason, "use it in a subscription of an `Engine` or a folder", name=name)


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
