"""How many broad subscriptions one owner may hold: each of them costs every publication something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache

from triplecast.compile.plan import Cost
from triplecast.errors import InputError, QuotaReached
from triplecast.index import Snapshot
from triplecast.index.snapshot import broad_registrations
from triplecast.journal import JournalFile
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.registry.admission import Admission

Owner = str | None
"""None: all subscriptions that name no owner share one quota."""


def check_quota(quota: object) -> int:
    """Raises `InputError` for what is no number of subscriptions."""
    if not isinstance(quota, int) or isinstance(quota, bool) or quota < 0:
        raise InputError(f"broad_per_owner is {quota!r}", "give a whole number, 0 or more")
    return quota


class Places:
    """The places that are left during one change of the registry."""

    def __init__(self, quota: int, held: Callable[[Owner], int]) -> None:
        """`held`: how many broad subscriptions an owner holds before the change."""
        self._quota = quota
        self._held_before = cache(held)
        self._taken: Counter[Owner] = Counter()

    def take(self, subscription: Subscription, admission: Admission) -> None:
        """Take a place if the subscription is broad. Raises `QuotaReached`."""
        if admission.cost != Cost.BROAD.value:
            return
        owner = subscription.owner
        held = self._held_before(owner) + self._taken[owner]
        if held >= self._quota:
            raise _reached(subscription, admission, held, self._quota)
        self._taken[owner] += 1

    def move(self, subscription: Subscription, admission: Admission, before: Owner) -> None:
        """The same for one that replaces a broad one of the owner `before`, whose place it may have; that place is free
        afterwards if it has another. Raises `QuotaReached`, and then nothing has moved."""
        if subscription.owner != before:
            self.take(subscription, admission)
            self._taken[before] -= 1


class Holdings:
    """The live broad subscriptions of a journal that has one writer, this process, by owner.

    They are found in the index when they are first needed, and noted from then on as they are registered. So nothing is
    kept of, or done for, any other subscription.
    """

    def __init__(self, journal: JournalFile, snapshot: Callable[[], Snapshot]) -> None:
        """`snapshot` returns one that holds all that was registered and never noted."""
        self._journal = journal
        self._snapshot = snapshot
        self._of: dict[Owner, set[int]] = {}
        self._found = False

    def note(self, owner: Owner, registration: int) -> None:
        """Add a broad one that was registered."""
        self._of.setdefault(owner, set()).add(registration)

    def places(self, quota: int, ended: Collection[int]) -> Places:
        """The places left by all but the `ended`."""
        return Places(quota, lambda owner: len(self._held(owner).difference(ended)))

    def broad_among(self, registrations: Iterable[Registration]) -> frozenset[RegistrationId]:
        """Those of the live `registrations` that are broad."""
        self._find()
        return frozenset(
            each.id for each in registrations if int(each.id) in self._of.get(each.subscription.owner, frozenset())
        )

    def _held(self, owner: Owner) -> set[int]:
        self._find()
        known = self._journal.registrations_at(sorted(self._of.get(owner, ())))
        self._of[owner] = {int(found.id) for found in known if found.removed is None}
        return self._of[owner]

    def _find(self) -> None:
        if not self._found:
            for found in self._journal.registrations_at(broad_registrations(self._snapshot())):
                self.note(found.subscription.owner, int(found.id))
            self._found = True


def _reached(subscription: Subscription, admission: Admission, held: int, quota: int) -> QuotaReached:
    owner = subscription.owner
    whose = "subscriptions without an owner hold" if owner is None else f"{owner!r} holds"
    places = "place" if held == 1 else "places"
    return QuotaReached(
        "another broad subscription",
        f"{whose} {held:,} {places} of {quota:,} for broad ones, and this one is broad: {admission.broad}",
        "put a constant into a triple pattern that every match needs, cancel a broad one, or raise the quota "
        "(broad_per_owner of Engine, --broad-per-owner of `triplecast run`)",
        name=subscription.name,
        owner=owner,
        held=held,
        quota=quota,
    )
