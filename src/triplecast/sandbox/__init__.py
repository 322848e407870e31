"""Functions bytes → bytes in a child process that may be killed, with limits of time, memory and answer size."""

from triplecast.sandbox.outcome import Failure, Limits
from triplecast.sandbox.sandbox import Sandbox

__all__ = ["Failure", "Limits", "Sandbox"]
