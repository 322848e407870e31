"""The limits of a sandbox, and the ways in which a request fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may use. The others hold even on a system that cannot limit memory."""

    seconds: float
    """Wall time from the moment the child begins the request. A request that overruns is repeated once, alone, in a
    fresh child (`Sandbox.map`), so it may take twice this and the start of a child."""
    memory: int
    """Bytes of address space beyond what the child uses once its function is imported."""
    answer: int
    """Bytes of the answer."""
    trusted: bool = False
    """The function is the user's own code: it may open files and sockets and sees the whole environment."""
    start: float = 120.0
    """Seconds for the child to start and import what it needs."""


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request without an answer."""

    kind: str
    """``timeout``, ``memory``, ``crash``, ``error`` (the function raised) or ``size`` (the answer is too long)."""
    detail: str
