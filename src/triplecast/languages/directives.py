"""The comment by which a subscription's text asks for more than its language can say."""

from __future__ import annotations

import re

_LINE = re.compile(r"\s*#\s*triplecast:([^\r\n]*)")
_PAIR = re.compile(r"([A-Za-z_]+)\s*=\s*([^\s,;]+)")


def directives(text: str) -> dict[str, str]:
    """Names and values of a first line ``# triplecast: entailment=rdfs``; empty without one. Names are lower case."""
    if "triplecast:" not in text:
        return {}
    line = _LINE.match(text.lstrip("\ufeff"))
    return {name.lower(): value for name, value in _PAIR.findall(line[1])} if line else {}
