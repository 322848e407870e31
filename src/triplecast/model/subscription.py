"""Subscriptions, their registrations in the journal, their leases and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, NewType

from triplecast.errors import InputError
from triplecast.model.publication import Position

RegistrationId = NewType("RegistrationId", int)
"""The journal position of the record that added a subscription; 64 bits, never reused."""


API, FILES = "api", "files"
"""Sources of subscriptions: calls (`Engine`, the command line), and the subscription files of a run."""

BROAD_PER_OWNER = 100
"""Default limit of broad subscriptions (`compile.plan.Cost`) for each owner."""


PUBLICATION, REPOSITORY = "publication", "repository"
"""Scopes: a query is asked of each publication alone, or of all current documents together."""
SCOPES = (PUBLICATION, REPOSITORY)

EVERY, CHANGED, NEW = "every", "changed", "new"
NOTIFY = (EVERY, CHANGED, NEW)
"""What a subscription wants to hear: each matching version; what differs from what it was told; each solution once."""
UPDATES = "updates"
"""Noted beside `NOTIFY`: its query may have conditions of an update (`may_compare`)."""
INITIAL = ("all", "none")
"""What is told of what it finds as it is registered, in repository scope."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query as its owner wrote it."""

    name: str
    """Its id: a relative path, the ``id`` of a ``.jsonl`` line, or the argument of `subscribe`."""
    text: str
    language: str = "sparql"
    scope: str = ""
    """Without one it is `PUBLICATION`; for a rule, what evaluates it chooses as it is bound."""
    entailment: str | None = None
    owner: str | None = None
    notify: str | None = None
    """One of `NOTIFY`; None where nobody said: `CHANGED`."""
    initial: str | None = None
    """One of `INITIAL`; None where nobody said: all."""
    key: tuple[str, ...] = ()
    """Variables by which a row removed and one added are a row updated; without names nothing is."""

    @property
    def hears(self) -> str:
        return self.notify or CHANGED

    def __post_init__(self) -> None:
        if self.scope == "" and self.language != "rule":
            object.__setattr__(self, "scope", PUBLICATION)


def may_compare(subscription: Subscription) -> bool:
    """Whether its query may call ``tc:before``, whose name is written out (`languages.updates`)."""
    return bool(subscription.key) and "before" in subscription.text


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


class NamedRegistrations(NamedTuple):
    """What subscribers call registrations that were added together: numbers from `first` on, without a gap."""

    first: int
    names: Sequence[str]
    owners: Sequence[str | None]

    @property
    def last(self) -> int:
        return self.first + len(self.names) - 1


def check_subscriptions(subscriptions: Sequence[Subscription]) -> None:
    """Raise TypeError for what is no sequence of subscriptions."""
    whole = isinstance(subscriptions, Sequence) and not isinstance(subscriptions, str | bytes)
    for found in subscriptions if whole else [subscriptions]:
        if not isinstance(found, Subscription):
            raise TypeError(
                f"subscribe_many takes a list of triplecast.Subscription, not {type(found).__name__}; "
                "`subscribe` takes the text of one query"
            )


def read_key(given: object) -> tuple[str, ...]:
    """Names of variables. Raises `InputError` for what is none, and for a text alone, whose letters would be names."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        key = tuple(given)
        if all(isinstance(name, str) for name in key):
            return key
    raise InputError(f"a key cannot be {given!r}", 'give names of variables: ("item",)')


LONGEST_NAME = 4_096
"""Characters of an id and of an owner."""
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
_OPTIONAL = frozenset(("entailment", "owner", "notify", "initial"))
_FILES = (".rq", ".rdql", ".rule")
"""Ends of names of files; no query ends like this."""
_CALLED: Mapping[str, str] = MappingProxyType(
    {each.name: "id" if each.name == "name" else each.name for each in fields(Subscription) if each.name != "key"}
)
"""Users' names of the fields, by attribute."""


def check_fields(subscription: Subscription) -> None:
    """Raise `InputError`, naming the field, for one that is no text, is empty, too long or not UTF-8, and
    for an id or owner with a control character."""
    if _is_ordinary(subscription):
        return
    key: object = subscription.key
    if not isinstance(key, tuple) or not all(isinstance(name, str) and name.isprintable() for name in key):
        raise InputError(f"the key of a subscription is {key!r}", 'give names of variables as a tuple: ("item",)')
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
        if name == "text" and value.endswith(_FILES):
            raise InputError(f"{value!r} is the name of a file, not a query", "subscribe Path(…).read_text()")
        if name in ("name", "owner") and len(value) > LONGEST_NAME:
            found = f"the {field} of a subscription has {len(value):,} characters"
            raise InputError(found, f"{LONGEST_NAME:,} are allowed")
        control = _CONTROL.search(value) if name in ("name", "owner") else None
        if control is not None:
            found = f"the {field} of a subscription holds a control character ({control[0]!r} at {control.start()})"
            raise InputError(found, "leave it out")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"the {field} of a subscription holds half a character ({value[error.start]!r} at {error.start})",
                "give text that can be written as UTF-8",
            ) from error


def _is_ordinary(subscription: Subscription) -> bool:
    """Whether all fields are, at first sight, valid and usual: a quick test for nearly all subscriptions."""
    name, text, language, scope = subscription.name, subscription.text, subscription.language, subscription.scope
    if not (name.__class__ is text.__class__ is language.__class__ is scope.__class__ is str):
        return False
    if not (name and text and language and scope) or len(name) > LONGEST_NAME or text.endswith(_FILES):
        return False
    usual = subscription.entailment is subscription.owner is subscription.initial is None and subscription.key == ()
    usual = usual and (subscription.notify is None or subscription.notify in NOTIFY)
    return usual and name.isascii() and name.isprintable() and text.isascii() and language.isascii() and scope.isascii()


@dataclass(frozen=True, slots=True)
class SubscriptionCounts:
    """Live subscriptions: by cost (the first three fields) and by who decides them (the next three)."""

    narrow: int = 0
    """By cost (`compile.plan.Cost`)."""
    predicate: int = 0
    broad: int = 0
    index: int = 0
    """Decided by one join of the index."""
    combined: int = 0
    """Decided on the rows of its joins: by combining several, by calculating residual predicates, or both."""
    evaluator: int = 0
    """Decided by the evaluator, on candidates."""
    refused: int = 0
    """Registered by another version of Triplecast; this one never evaluates them."""
    repository: int = 0
    """Of repository scope; the other fields count those of publication scope."""


DEFAULT_LEASE = timedelta(days=1)
FOREVER = timedelta.max
"""A lease without an end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_HINT = "give a timedelta, seconds, a datetime with a zone, or triplecast.FOREVER"


class Lease(NamedTuple):
    """The end of a lease in microseconds since 1970, or since acceptance if `relative`; None means no end."""

    microseconds: int | None
    relative: bool = False

    def end(self, at: int) -> int | None:
        """Return the end in microseconds since 1970 of a lease accepted `at` that time.

        Raises `InputError` for an end that has passed or lies after the year 9999."""
        if self.microseconds is None:
            return None
        end = at + self.microseconds if self.relative else self.microseconds
        if end <= at:
            raise InputError("the lease ends before it begins", "give a later end")
        if end > _LAST:
            raise InputError("the lease ends after the year 9999", "give triplecast.FOREVER for a lease without end")
        return end


NO_END = Lease(None)


def read_lease(given: object) -> Lease:
    """Read a lease: a timedelta or seconds after acceptance, a datetime with a zone, or `FOREVER`. None is
    `DEFAULT_LEASE`. Raises `InputError` for anything else."""
    if given is None:
        given = DEFAULT_LEASE
    if given == FOREVER or given == float("inf"):
        return NO_END
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InputError("the end of a lease has no time zone", _HINT)
        return Lease((given - _EPOCH) // timedelta(microseconds=1))
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            given = timedelta(seconds=given)
        except (OverflowError, ValueError):
            raise InputError(f"a lease cannot be {given} seconds", _HINT) from None
    if not isinstance(given, timedelta):
        raise InputError(f"a lease is not {type(given).__name__}", _HINT)
    return Lease(given // timedelta(microseconds=1), relative=True)
