"""Which representation a client takes (RFC 9110, 12.5.1), and which entity tags it knows (13.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triplecast.service.problems import Problem

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')


def choose(accept: str | None, offered: Sequence[str]) -> str:
    """The media type among those `offered`, the first where several are as welcome. Raises `Problem` 406."""
    if not accept or not accept.strip():
        return offered[0]
    ranges = [_range(part) for part in accept.split(",")]
    best = max(offered, key=lambda each: (_quality(each, ranges), -offered.index(each)))
    if _quality(best, ranges) <= 0:
        raise Problem(406, "no representation fits Accept", accept[:200], f"ask for one of {', '.join(offered)}")
    return best


def _range(part: str) -> tuple[str, float]:
    name, *parameters = (each.strip().lower() for each in part.split(";"))
    for each in parameters:
        if each.startswith("q="):
            try:
                return name, min(max(float(each[2:]), 0.0), 1.0)
            except ValueError:
                return name, 0.0
    return name, 1.0


def _quality(offered: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Of the most specific range that fits."""
    kind = offered.partition("/")[0]
    for wanted in (offered, f"{kind}/*", "*/*"):
        found = [quality for name, quality in ranges if name == wanted]
        if found:
            return max(found)
    return 0.0


def read_tags(header: str) -> list[str]:
    """The entity tags of ``If-Match`` or ``If-None-Match``, weak ones with their ``W/``; ``*`` stands alone. Raises
    `Problem` 400."""
    if header.strip() == "*":
        return ["*"]
    tags = _TAG.findall(header)
    if not tags or _TAG.sub("", header).strip(" ,\t"):
        raise Problem(400, "this is no list of entity tags", header[:200], 'send If-Match: "TAG"')
    return tags
