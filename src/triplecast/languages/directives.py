"""Directives: options in a comment on the first line of a subscription's text."""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*#\s*triplecast:([^\r\n]*)")
_PAIR = re.compile(r"([A-Za-z_]+)\s*=\s*([^\s,;]+)")


def directives(text: str) -> dict[str, str]:
    """Read the options of a first line ``# triplecast: entailment=rdfs``, by lower-case name; empty without one."""
    if "triplecast:" not in text:
        return {}
    line = _LINE.match(text.lstrip("\ufeff"))
    return {name.lower(): value for name, value in _PAIR.findall(line[1])} if line else {}
