"""Run functions bytes → bytes in a child process that can be killed, with limits of time, memory and answer size."""

from triplecast.sandbox.outcome import Limits, RequestFailure
from triplecast.sandbox.sandbox import Sandbox
from triplecast.sandbox.search_path import search_path

__all__ = ["Limits", "RequestFailure", "Sandbox", "search_path"]
