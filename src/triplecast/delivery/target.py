"""Where a subscription's notifications are delivered to."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from triplecast.egress import read_url
from triplecast.errors import EgressRefused, InputError
from triplecast.model.subscription import FILES

WEBHOOK, EMAIL, COMMAND, WEBSUB = "webhook", "email", "command", "websub"
KINDS = (WEBHOOK, EMAIL, COMMAND, WEBSUB)
DAMAGED = "damaged"
"""The kind of a target that cannot be read: nobody delivers to it, and it stays as it is until it is removed."""
SECRET_PREFIX = "whsec_"
SECRET_BYTES = range(24, 65)
"""Standard Webhooks: of the key of a signature."""
DIGEST_SECONDS = 3600.0
"""Between two mails, unless a target says otherwise;"""
SHORTEST_DIGEST = 60.0
"""never less."""
LONGEST_DIGEST = 30 * 86_400.0
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_ARGUMENTS = 100
_CHARACTERS = 4096
"""Of a command."""


class Destination(NamedTuple):
    """What somebody asks notifications to be delivered to."""

    kind: str
    address: str
    """A URL, an address of mail, or a command and its arguments as a JSON list."""
    secret: str = ""
    """Of a webhook: what its requests are signed with; one is made where none is given. Of WebSub: the subscriber's."""
    every: float = DIGEST_SECONDS
    """Of mail: seconds between two."""
    topic: str = ""
    """Of WebSub: the feed's address."""
    expires: int | None = None
    """Of WebSub: when its lease ends, in microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Target:
    """A destination of one subscription, and how far delivery has come. Times are microseconds since 1970."""

    id: str
    subscription: str
    registration: int
    """What is delivered is this registration's alone; where a subscription file is edited, the next one's."""
    source: str
    kind: str
    address: str
    secret: str = field(repr=False)
    every: float
    topic: str
    expires: int | None
    created_at: int
    position: int
    """Of the journal when it was made: nothing earlier is delivered where an outbox begins again."""
    epoch: int
    sequence: int
    """Up to here everything is delivered or a dead letter."""
    idle: bool = True
    """Whether there was nothing left to deliver up to where delivery had read (`TargetStore.reached`)."""
    attempts: int = 0
    """Made of the notification after `sequence`, in vain."""
    failing_since: int | None = None
    """When the first of the attempts since the last success failed."""
    next_at: int = 0
    """No attempt is made before."""
    delivered: int = 0
    last_at: int | None = None
    """When something was delivered last."""
    last_error: str = ""
    disabled: str = ""
    """Why nothing is delivered until it is enabled; empty where something is."""

    @property
    def follows(self) -> bool:
        """Whether it goes over to the registration that takes the place of its own."""
        return self.source == FILES


class DeadLetter(NamedTuple):
    """A notification that was not delivered, and will not be unless it is replayed."""

    target: str
    epoch: int
    sequence: int
    notification: str
    attempts: int
    reason: str
    at: int
    again: bool = False
    """Whether it is to be delivered again."""


def read_destination(given: object, randomness: Callable[[int], bytes], administrator: bool) -> Destination:
    """What a caller wrote: an object with one of ``webhook``, ``email`` and ``command``, and what goes with it. Raises
    `InputError`; a command is the administrator's alone."""
    if not isinstance(given, Mapping):
        raise InputError("a delivery is an object", 'give {"webhook": "https://example.org/hook"}')
    extra = {WEBHOOK: {"secret"}, EMAIL: {"every"}, COMMAND: set[str]()}
    kinds = [kind for kind in extra if kind in given]
    if len(kinds) != 1 or not {*given} <= {kinds[0], *extra[kinds[0]]}:
        hint = "give one of webhook (with secret), email (with every) and command"
        raise InputError(f"a delivery cannot have {', '.join(map(str, given)) or 'nothing'}", hint)
    (kind,) = kinds
    if kind == WEBHOOK:
        return Destination(WEBHOOK, _read_webhook(given[WEBHOOK]), _read_secret(given.get("secret"), randomness))
    if kind == EMAIL:
        return Destination(EMAIL, _read_mail_address(given[EMAIL]), every=_read_every(given.get("every")))
    if not administrator:
        raise InputError("a command is the administrator's to set", "use a webhook, or ask the administrator")
    return Destination(COMMAND, _read_command(given[COMMAND]))


def _read_webhook(url: object) -> str:
    if not isinstance(url, str):
        raise InputError("a webhook is a URL", "give https://host/path")
    try:
        read_url(url)
    except EgressRefused as refusal:
        raise InputError(f"the webhook cannot be used: {refusal.reason}", refusal.hint) from None
    return url


def _read_secret(secret: object, randomness: Callable[[int], bytes]) -> str:
    if secret is None:
        return SECRET_PREFIX + base64.b64encode(randomness(32)).decode()
    if isinstance(secret, str):
        try:
            if len(secret_key(secret)) in SECRET_BYTES:
                return secret
        except (ValueError, binascii.Error):
            pass
    hint = f"give {SECRET_PREFIX} and {SECRET_BYTES.start} to {SECRET_BYTES.stop - 1} random bytes in base64, or none"
    raise InputError("that is no secret of Standard Webhooks", hint)


def secret_key(secret: str) -> bytes:
    """The bytes that a secret stands for. Raises ValueError."""
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError(secret[:6])
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)


def _read_mail_address(address: object) -> str:
    if isinstance(address, str) and len(address) <= 254 and _ADDRESS.fullmatch(address):
        return address
    raise InputError("that is no address of mail", "give name@example.org")


def _read_every(every: object) -> float:
    if every is None:
        return DIGEST_SECONDS
    if isinstance(every, int | float) and SHORTEST_DIGEST <= every <= LONGEST_DIGEST:
        return float(every)
    hint = f"give seconds, from {SHORTEST_DIGEST:g} to {LONGEST_DIGEST:g}"
    raise InputError(f"mail cannot come every {every!r}", hint)


def _read_command(argv: object) -> str:
    if isinstance(argv, list) and argv and all(isinstance(each, str) and "\0" not in each for each in argv):
        written = json.dumps(argv)
        if len(argv) <= _ARGUMENTS and len(written) <= _CHARACTERS and argv[0]:
            return written
    raise InputError("a command is a list of strings", 'give ["/path/to/program", "argument"]')
