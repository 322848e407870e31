"""A WebSub hub for the feeds of subscriptions: who asks proves that it wants them, and gets what is new.

Source: W3C Recommendation WebSub, sections 5 (subscribing), 6 (verification of intent) and 7 (content distribution).
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlencode

from triplecast.delivery.attempt import GONE, Attempt, AttemptOutcome
from triplecast.delivery.requests import TargetRequests
from triplecast.delivery.sending import post
from triplecast.delivery.target import WEBSUB, Destination
from triplecast.egress import Egress
from triplecast.errors import EgressFailed, EgressRefused, InputError
from triplecast.model.subscription import Registration
from triplecast.outbox import Notification

LEASE_SECONDS = 10 * 86_400
"""Unless a subscriber asks for another lease, from"""
SHORTEST_LEASE = 300
"""to"""
LONGEST_LEASE = 30 * 86_400
SECRET_BYTES = 200
"""A secret has fewer."""
SUBSCRIBERS_EACH = 1_000
"""Callbacks of the feeds of one subscription."""
A_MINUTE = 10
"""Verifications of one host's callbacks: a hub must be no means to flood somebody."""
WAITING = 1_000
"""Verifications under way, and hosts that are remembered."""
_VERIFIERS = 4
_MINUTE = 60_000_000


class HubAnswer(NamedTuple):
    status: int
    text: str


class FeedContent(NamedTuple):
    """What subscribers of a feed get."""

    media_type: str
    body: bytes


Topics = Callable[[str], Registration | None]
"""The registration whose feed has this address; None for an address that is no feed's, or no longer."""
Render = Callable[[str, Sequence[Notification]], FeedContent | None]
"""A feed, by its address, with these entries alone; None where it has this address no more."""


@dataclass(frozen=True, slots=True)
class _Intent:
    mode: str
    topic: str
    callback: str
    secret: str
    lease: int
    registration: Registration


class Hub:
    """Takes requests of subscribers. May be used from any thread."""

    def __init__(self, egress: Egress, requests: TargetRequests, topics: Topics) -> None:
        self._egress = egress
        self._requests = requests
        self._topics = topics
        self._lock = Lock()
        self._recent: OrderedDict[str, deque[int]] = OrderedDict()
        """When callbacks of a host were verified last."""
        self._under_way = 0
        self._threads = ThreadPoolExecutor(_VERIFIERS, "triplecast-hub")

    def close(self) -> None:
        """Verifications that are under way end first."""
        self._threads.shutdown(cancel_futures=True)

    def request(self, form: Mapping[str, str]) -> HubAnswer:
        """The answer to a form that a subscriber sent. Nothing is subscribed yet: its callback is asked first."""
        intent = self._read(form)
        if isinstance(intent, HubAnswer):
            return intent
        if not self._admit(intent.callback):
            return HubAnswer(429, "too many requests for this callback's host; try again in a minute")
        self._threads.submit(self._verify, intent)
        return HubAnswer(202, "the callback will be asked whether it wants this")

    def _read(self, form: Mapping[str, str]) -> _Intent | HubAnswer:
        mode, topic, callback = (form.get(f"hub.{name}", "") for name in ("mode", "topic", "callback"))
        secret, lease = form.get("hub.secret", ""), form.get("hub.lease_seconds", "")
        if mode not in ("subscribe", "unsubscribe"):
            return HubAnswer(400, "hub.mode is subscribe or unsubscribe")
        try:
            self._egress.check(callback)
        except EgressRefused as refusal:
            return HubAnswer(400, f"hub.callback cannot be used: {refusal.reason}")
        if len(secret.encode("utf-8", "replace")) >= SECRET_BYTES:
            return HubAnswer(400, f"hub.secret has fewer than {SECRET_BYTES} bytes")
        if lease and not (lease.isascii() and lease.isdecimal()):
            return HubAnswer(400, "hub.lease_seconds is a whole number")
        registration = self._topics(topic)
        if registration is None:
            return HubAnswer(404, "hub.topic is no feed of this hub")
        seconds = min(max(int(lease[:10]) if lease else LEASE_SECONDS, SHORTEST_LEASE), LONGEST_LEASE)
        return _Intent(mode, topic, callback.partition("#")[0], secret, seconds, registration)

    def _admit(self, callback: str) -> bool:
        """Whether a callback may be asked now."""
        host, now = self._egress.check(callback).host, self._requests.now()
        with self._lock:
            recent = self._recent.setdefault(host, deque(maxlen=A_MINUTE))
            if self._under_way >= WAITING or (len(recent) == A_MINUTE and recent[0] > now - _MINUTE):
                return False
            recent.append(now)
            self._recent.move_to_end(host)
            while len(self._recent) > WAITING:
                self._recent.popitem(last=False)
            self._under_way += 1
            return True

    def _verify(self, intent: _Intent) -> None:
        try:
            if self._is_meant(intent):
                self._carry_out(intent)
        except (EgressRefused, EgressFailed, InputError):
            pass  # then it is not subscribed, which is all that a hub says of it
        finally:
            with self._lock:
                self._under_way -= 1

    def _is_meant(self, intent: _Intent) -> bool:
        """Whether the callback echoes 256 random bits, so that nobody subscribes somebody else."""
        challenge = self._requests.random_token()
        asked = {"hub.mode": intent.mode, "hub.topic": intent.topic, "hub.challenge": challenge}
        if intent.mode == "subscribe":
            asked["hub.lease_seconds"] = str(intent.lease)
        joined = f"{intent.callback}{'&' if '?' in intent.callback else '?'}{urlencode(asked)}"
        answer = self._egress.send("GET", joined, most_bytes=len(challenge) + 1)
        return 200 <= answer.status < 300 and hmac.compare_digest(answer.body, challenge.encode())

    def _carry_out(self, intent: _Intent) -> None:
        id = websub_id(intent.topic, intent.callback)
        if intent.mode == "unsubscribe":
            self._requests.deliveries.remove(id)
            return
        expires = self._requests.now() + intent.lease * 1_000_000
        destination = Destination(
            WEBSUB, intent.callback, intent.secret, every=0.0, topic=intent.topic, expires=expires
        )
        self._requests.add_now(intent.registration, destination, SUBSCRIBERS_EACH, id)


def websub_id(topic: str, callback: str) -> str:
    """A callback subscribes to a topic once; asking again renews."""
    return f"w-{hashlib.sha256(f'{topic} {callback}'.encode()).hexdigest()[:24]}"


def distribute(egress: Egress, hub: str, render: Render, attempt: Attempt) -> AttemptOutcome:
    """Send the new entries of a feed. The signature is of the body, by the subscriber's secret."""
    target = attempt.target
    content = render(target.topic, attempt.notifications)
    if content is None:
        return AttemptOutcome(GONE, "the feed has another address")
    headers = [("Content-Type", content.media_type), ("Link", f'<{hub}>; rel="hub", <{target.topic}>; rel="self"')]
    if target.secret:
        signature = hmac.digest(target.secret.encode(), content.body, hashlib.sha256).hex()
        headers.append(("X-Hub-Signature", f"sha256={signature}"))
    return post(egress.send, attempt, headers, content.body)
