"""Subscriptions, and their registrations in the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import NewType

from triplecast.errors import InputError
from triplecast.model.publication import Position

RegistrationId = NewType("RegistrationId", int)
"""The journal position of the record that added a subscription; 64 bits, never reused."""


API, FILES = "api", "files"
"""Sources of subscriptions: calls (`Engine`, the command line), and the subscription files of a run."""

BROAD_PER_OWNER = 100
"""Default limit of broad subscriptions (`compile.plan.Cost`) for each owner."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query as its owner wrote it."""

    name: str
    """Its id: a relative path, the ``id`` of a ``.jsonl`` line, or the argument of `subscribe`."""
    text: str
    language: str = "sparql"
    scope: str = "publication"
    entailment: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """A subscription in the journal, evaluated against publications at positions in (added, removed)."""

    id: RegistrationId
    subscription: Subscription
    removed: Position | None = None
    source: str = API
    """Who registered it; nobody else may cancel it."""

    @property
    def added(self) -> Position:
        return Position(self.id)


_OPTIONAL = frozenset(("entailment", "owner"))
_CALLED: Mapping[str, str] = MappingProxyType(
    {each.name: "id" if each.name == "name" else each.name for each in fields(Subscription)}
)
"""Users' names of the fields, by attribute."""


def check_fields(subscription: Subscription) -> None:
    """Raise `InputError`, naming the field, for one that is no text, is empty, or cannot be written as UTF-8."""
    if _is_ordinary(subscription):
        return
    for name, field in _CALLED.items():
        value = getattr(subscription, name)
        if value is None and name in _OPTIONAL:
            continue
        if not isinstance(value, str):
            raise InputError(f"the {field} of a subscription is {type(value).__name__}", f"give the {field} as str")
        if not value and name in ("name", "text"):
            raise InputError(
                f"the {field} of a subscription is empty", f"give it {'an' if field == 'id' else 'a'} {field}"
            )
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the {field} of a subscription holds half a character ({value[error.start]!r} at {error.start})",
                "give text that can be written as UTF-8",
            ) from error


def _is_ordinary(subscription: Subscription) -> bool:
    """Whether all fields are, at first sight, valid and usual: a quick test for nearly all subscriptions."""
    written = subscription.name, subscription.text, subscription.language, subscription.scope
    for value in written:
        if value.__class__ is not str or not value or not value.isascii():
            return False
    return subscription.entailment is None and subscription.owner is None
