"""Functions bytes → bytes in a child process that may be killed, with limits of time, memory and answer size."""

from triplecast.sandbox.outcome import Failure, Limits
from triplecast.sandbox.sandbox import Sandbox
from triplecast.sandbox.search_path import search_path

__all__ = ["Failure", "Limits", "Sandbox", "search_path"]
