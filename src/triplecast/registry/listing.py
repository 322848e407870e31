"""Live subscriptions as they are listed, all or in pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.journal import JournalFile, time_text
from triplecast.languages.rule_given import as_written
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import INITIAL, Registration
from triplecast.registry.admission import admit

PAGE_CHARACTERS = 4 << 20
"""Of the texts, ids and owners on one page, after which it ends: it has one subscription more at most."""
_READ_AT_ONCE = 128
"""Records, of which each may hold a text of a million characters."""


@dataclass(frozen=True, slots=True)
class LiveSubscription:
    """A live subscription as it is listed."""

    id: str
    registration: int
    language: str
    text: str
    """As its owner wrote it."""
    owner: str | None
    scope: str
    entailment: str | None
    notify: str
    """What it wants to hear; `initial` and `key` as it was subscribed."""
    initial: str
    key: tuple[str, ...]
    cost: str
    """As in `Subscribed`; ``refused`` for one of another version of Triplecast that this one cannot evaluate."""
    warnings: tuple[str, ...]
    """As in `Subscribed`; why it is refused."""
    expires: str | None
    """As in `Subscribed`, or as it was renewed."""
    source: str
    """Who registered it and may cancel it: ``api``, ``files`` or ``http:`` and an account."""


class Page(NamedTuple):
    subscriptions: list[LiveSubscription]
    after: int | None
    """Where the next page begins; None: this is the last one."""


def list_live(
    registrations: Iterable[Registration], ends: Mapping[int, int], operators: OperatorSet, owner: str | None = None
) -> Iterator[LiveSubscription]:
    """Live registrations, or those of one owner. `ends`: of their leases, by registration."""
    return (
        _listed(found, ends.get(int(found.id)), operators)
        for found in registrations
        if owner is None or found.subscription.owner == owner
    )


def read_page(
    journal: JournalFile, operators: OperatorSet, now: int, after: int, limit: int, owner: str | None = None
) -> Page:
    """At most `limit` live subscriptions beyond registration `after`. Leases that are over at `now`, in microseconds
    since 1970, have ended, whether or not the writer has noted it."""
    head = journal.head()
    found: list[Registration] = []
    following: int | None = None
    size = 0
    for changes, _ in journal.registry_slices(after, head, min(4 * limit, _READ_AT_ONCE)):
        for each in changes.added:
            if each.removed is None and owner in (None, each.subscription.owner):
                found.append(each)
                size += sum(map(len, (each.subscription.text, each.subscription.name, each.subscription.owner or "")))
                if len(found) == limit or size > PAGE_CHARACTERS:
                    following = int(each.id)
                    break
        if following is not None:
            break
    ends = journal.lease_ends([int(each.id) for each in found])
    live = (each for each in found if ends.get(each.id, now + 1) > now)
    return Page(list(list_live(live, ends, operators)), following)


def _listed(found: Registration, end: int | None, operators: OperatorSet) -> LiveSubscription:
    subscription = found.subscription
    try:
        admission = admit(subscription, operators=operators)
        cost, warnings = admission.cost, admission.warnings
    except (QuerySyntaxError, QueryRefused) as fault:
        cost, warnings = "refused", (str(fault),)
    return LiveSubscription(
        subscription.name,
        int(found.id),
        subscription.language,
        as_written(subscription.text) if subscription.language == "rule" else subscription.text,
        subscription.owner,
        subscription.scope,
        subscription.entailment,
        subscription.hears,
        subscription.initial or INITIAL[0],
        subscription.key,
        cost,
        warnings,
        None if end is None else time_text(end),
        found.source,
    )
