"""Tickets: the secrets that renew or cancel a subscription. Whoever reads the journal finds their hashes only."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable


def make_ticket(randomness: Callable[[int], bytes]) -> str:
    """256 random bits, as 43 characters that need no quoting anywhere."""
    return urlsafe_b64encode(randomness(32)).rstrip(b"=").decode()


def hash_ticket(ticket: str) -> bytes:
    """SHA-256: a guess costs 2^255 of them, so none slower is needed."""
    return hashlib.sha256(ticket.encode("utf-8", "backslashreplace")).digest()


def opens(ticket: object, kept: bytes) -> bool:
    """Whether `kept` is the ticket's hash, which it is of no other kind of value; in constant time."""
    return isinstance(ticket, str) and hmac.compare_digest(hash_ticket(ticket), kept)
