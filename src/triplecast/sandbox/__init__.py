"""Run functions bytes → bytes in a child process that can be killed, with limits of time, memory and answer size."""

from triplecast.sandbox.process import Limits, RequestFailure, is_child, search_path
from triplecast.sandbox.sandbox import Sandbox

__all__ = ["Limits", "RequestFailure", "Sandbox", "is_child", "search_path"]
