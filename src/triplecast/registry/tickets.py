"""Tickets: the secrets that renew or cancel subscriptions, of which the journal keeps hashes."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Callable


def make_tickets(randomness: Callable[[int], bytes], count: int) -> list[str]:
    """256 random bits each, as 43 characters that need no quoting anywhere, and no hyphen: it would begin an option."""
    bits = randomness(32 * count)
    whole = b64encode(b"".join([bits[at : at + 32] + b"\0" for at in range(0, len(bits), 32)]), b"._").decode()
    return [whole[at : at + 43] for at in range(0, len(whole), 44)]


def hash_ticket(ticket: str) -> bytes:
    """SHA-256: a guess costs 2^255 of them, so none slower is needed."""
    return hashlib.sha256(ticket.encode("utf-8", "backslashreplace")).digest()


def opens(ticket: object, kept: bytes) -> bool:
    """Whether `kept` is the ticket's hash, which it is of no other kind of value; in constant time."""
    return isinstance(ticket, str) and hmac.compare_digest(hash_ticket(ticket), kept)
