"""Requests about targets, and their answers: what `triplecast targets` and the service ask."""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping

from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.target import COMMAND, WEBHOOK, WEBSUB, DeadLetter, Destination, Target, read_destination
from triplecast.egress import read_url
from triplecast.errors import EgressRefused, InputError
from triplecast.journal import Clock, JournalFile, system_clock, time_text
from triplecast.model.subscription import Registration
from triplecast.outbox import Cursor, OutboxReader
from triplecast.registry.requests import Answer, Fields, answer_by

TARGETS_EACH = 20
"""Targets of one subscription."""


class TargetRequests:
    """Answers requests, for the folder's only deliverer. May be used from any thread."""

    def __init__(
        self,
        deliveries: Deliveries,
        journal: JournalFile,
        outbox: OutboxReader,
        clock: Clock = system_clock,
        randomness: Callable[[int], bytes] = os.urandom,
        check: Callable[[str], object] = read_url,
    ) -> None:
        """`check` raises `EgressRefused` for a URL that nothing may be sent to."""
        self.deliveries = deliveries
        self._check = check
        self._journal = journal
        self._outbox = outbox
        self._clock = clock
        self._randomness = randomness
        self._known: Mapping[str, Callable[[Fields], Answer]] = {
            "add": self._add,
            "list": self._list,
            "enable": lambda fields: shown(deliveries.enable(_text(fields, "target"))),
            "disable": lambda fields: shown(deliveries.disable(_text(fields, "target"), "by hand")),
            "remove": self._remove,
            "dead": self._dead,
            "replay": self._replay,
        }

    def answer_line(self, line: bytes) -> bytes:
        """The answer to a request that came as a line of JSON, as a line."""
        try:
            answer = self.answer(json.loads(line))
        except (ValueError, RecursionError) as error:
            answer = {"error": f"the request is not JSON: {error}", "hint": 'send a line {"request": "list"}'}
        return json.dumps(answer).encode() + b"\n"

    def answer(self, fields: object) -> Answer:
        return answer_by(self._known, fields)

    def cursor(self) -> Cursor:
        """Where the outbox is. What is subscribed after this was asked has everything it matches beyond it."""
        state = self._outbox.state
        return Cursor(state.epoch, state.sequence)

    def now(self) -> int:
        return self._clock()

    def random_token(self) -> str:
        """256 bits, as letters and digits, hyphens and underscores."""
        return urlsafe_b64encode(self._randomness(32)).decode().rstrip("=")

    def registration(self, number: int) -> Registration:
        """Raises `InputError` for one that has ended."""
        found = self._journal.registration(number)
        if found is None or found.removed is not None:
            raise InputError("the subscription has ended", "subscribe again")
        return found

    def read(self, delivery: object, administrator: bool) -> Destination:
        """What somebody asks for. Raises `InputError`, also for what this deliverer does not deliver to."""
        destination = read_destination(delivery, self._randomness, administrator)
        if not self.deliveries.delivers_to(destination.kind):
            raise InputError(f"{destination.kind} is not delivered to here", "use a webhook, or ask the administrator")
        if destination.kind == WEBHOOK:
            try:
                self._check(destination.address)
            except EgressRefused as refusal:
                raise InputError(f"the webhook cannot be used: {refusal.reason}", refusal.hint) from None
        return destination

    def add_now(
        self, registration: Registration, destination: Destination, most: int = TARGETS_EACH, id: str | None = None
    ) -> Target:
        """Deliver what comes of a live registration from now on. Raises what `add` raises."""
        return self.add(registration, destination, self.cursor(), self._journal.head(), most, id)

    def add(
        self,
        registration: Registration,
        destination: Destination,
        since: Cursor,
        position: int,
        most: int = TARGETS_EACH,
        id: str | None = None,
    ) -> Target:
        """Deliver what is recorded of a registration after a cursor, of publications after a position; a target with
        this `id` is renewed. Raises `InputError` where there would be more than `most` of its kind."""
        subscription, kind = registration.subscription, destination.kind
        there = self.deliveries.targets(subscription.name)
        others = [each.id for each in there if (each.kind == WEBSUB) == (kind == WEBSUB)]
        if len(others) >= most and id not in others:
            raise InputError(f"{subscription.name} has {most} targets already", "remove one of them first")
        target = Target(
            id=id or f"t-{self.random_token()[:16]}",
            subscription=subscription.name,
            registration=int(registration.id),
            source=registration.source,
            kind=kind,
            address=destination.address,
            secret=destination.secret,
            every=destination.every,
            topic=destination.topic,
            expires=destination.expires,
            created_at=self._clock(),
            position=position,
            epoch=since.epoch,
            sequence=since.sequence,
            idle=False,
        )
        self.deliveries.put(target)
        return target

    def _add(self, fields: Fields) -> Answer:
        """``subscription``: a live one's id; ``delivery``: as `read_destination` takes it; ``since``: ``start`` for all
        that is recorded of it, else what comes from now on."""
        name = _text(fields, "subscription")
        registration = self._journal.live_registration(name)
        if registration is None:
            raise InputError(f"no subscription {name!r} is live", "`triplecast subscriptions DIR` lists those that are")
        destination = self.read(fields.get("delivery"), administrator=True)
        if fields.get("since") == "start":
            target = self.add(registration, destination, self.cursor()._replace(sequence=0), 0)
        else:
            target = self.add_now(registration, destination)
        return shown(target) | ({"secret": target.secret} if target.secret else {})

    def _list(self, fields: Fields) -> Answer:
        name = None if fields.get("subscription") is None else _text(fields, "subscription")
        return {"targets": [shown(each) for each in self.deliveries.targets(name)]}

    def _remove(self, fields: Fields) -> Answer:
        self.deliveries.remove(_text(fields, "target"))
        return {}

    def _dead(self, fields: Fields) -> Answer:
        target = None if fields.get("target") is None else _text(fields, "target")
        return {"dead": [shown_letter(each) for each in self.deliveries.dead(target)]}

    def _replay(self, fields: Fields) -> Answer:
        sequence = fields.get("sequence")
        if sequence is not None and not isinstance(sequence, int):
            raise InputError("'sequence' is no number", "send that of a dead letter, or none for all")
        return {"replayed": self.deliveries.replay(_text(fields, "target"), sequence)}


def shown(target: Target) -> Answer:
    """A target as it is listed; its secret is told once, as it is added."""
    times = {"created_at": target.created_at, "next_at": target.next_at or None, "last_at": target.last_at}
    times |= {"failing_since": target.failing_since, "expires": target.expires}
    return {
        "target": target.id,
        "subscription": target.subscription,
        "kind": target.kind,
        "to": json.loads(target.address) if target.kind == COMMAND else target.address,
        "delivered": target.delivered,
        "delivered_upto": target.sequence,
        "attempts": target.attempts,
        "disabled": target.disabled or None,
        "last_error": target.last_error or None,
        **{name: None if at is None else time_text(at) for name, at in times.items()},
    }


def shown_letter(letter: DeadLetter) -> Answer:
    return {
        "target": letter.target,
        "sequence": letter.sequence,
        "id": letter.notification,
        "attempts": letter.attempts,
        "reason": letter.reason,
        "at": time_text(letter.at),
        "again": bool(letter.again),
    }


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name!r} is no string", f"send {name!r}")
    return value
