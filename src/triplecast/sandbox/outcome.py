"""What a sandbox may use, and how a request can fail."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may use. Where the system has no resource limits (`memory`) the rest still holds."""

    seconds: float
    """Wall time from the moment the child begins the request. One that overruns it is asked once more, alone, in a
    fresh child (`Sandbox.map`): it may take twice this in all, and the start of a child."""
    memory: int
    """Bytes of address space above what the child uses once its function is imported."""
    answer: int
    """Bytes of the answer."""
    trusted: bool = False
    """The function is the user's own code, given input that is not: it may open files and sockets, and sees the whole
    environment."""
    start: float = 120.0
    """Seconds for the child to import what it needs, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that has no answer."""

    kind: str
    """``timeout``, ``memory``, ``crash``, ``error`` (the function raised) or ``size`` (the answer is too long)."""
    detail: str
