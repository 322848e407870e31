"""Snapshot and publications to matches with bindings."""

from triplecast.match.matcher import Matcher

__all__ = ["Matcher"]
