"""What a request has wrong, field by field, in words: what is to be there, and what to send."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

SHOWN = 5
"""Faults that an answer names."""
_PLACES = ("query", "path", "header", "body")
_BRANCH = re.compile(r"constrained-\w+|literal\[.*\]|str|int|float|bool|none")
"""What pydantic adds to the place of a fault in one of several forms that a field may have."""
_WANTED: Mapping[str, str] = MappingProxyType(
    {
        "bool": "true or false",
        "dict": "an object",
        "float": "a number",
        "finite": "a finite number",
        "int": "a whole number",
        "list": "a list",
        "model": "an object",
        "string": "a string",
    }
)
"""By the beginning of a fault's type."""
_BOUNDS: Mapping[str, str] = MappingProxyType(
    {
        "greater_than": "be more than {gt}",
        "greater_than_equal": "be {ge} or more",
        "less_than": "be less than {lt}",
        "less_than_equal": "be at most {le}",
        "literal_error": "be {expected}",
        "string_pattern_mismatch": "match {pattern}",
        "string_too_long": "have at most {max_length} characters",
        "string_too_short": "have {min_length} or more characters",
        "too_long": "have at most {max_length} entries",
    }
)


class Fault(NamedTuple):
    found: str
    mend: str


def describe_faults(errors: Sequence[Mapping[str, Any]]) -> Fault:
    """The first faults, and how to mend the first one. Faults of one field are told as one."""
    faults: dict[str, list[Mapping[str, Any]]] = {}
    for each in errors:
        faults.setdefault(_place(each["loc"]), []).append(each)
    told = [_describe(place, some) for place, some in [*faults.items()][:SHOWN]]
    found = "; ".join(each.found for each in told).encode("utf-8", "backslashreplace").decode()
    return Fault(found, f"{told[0].mend}; see /openapi.json".encode("utf-8", "backslashreplace").decode())


def _describe(place: str, faults: Sequence[Mapping[str, Any]]) -> Fault:
    kind = faults[0]["type"]
    if kind == "missing":
        in_address = faults[0]["loc"][0] == "query"
        return Fault(f"{place} is missing", f"add ?{place}=… to the address" if in_address else f"send {place}")
    if kind == "extra_forbidden":
        return Fault(f"{place} is unknown here", f"leave {place} out")
    if kind == "json_invalid":
        return Fault(f"it is no JSON: {faults[0]['ctx']['error']}", "send a JSON object")
    wanted = " or ".join(dict.fromkeys(map(_wanted, faults))).replace(" or be ", " or ")
    is_one = kind == "list_type" and isinstance(faults[0]["input"], str)
    send = json.dumps({place: [faults[0]["input"][:100]]}, ensure_ascii=False) if is_one else f"{place} so"
    return Fault(f"{place} is to {wanted}", f"send {send}")


def _wanted(fault: Mapping[str, Any]) -> str:
    kind = fault["type"]
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**fault["ctx"])
    return f"be {_WANTED.get(kind.partition('_')[0], 'of another form')}"


def _place(parts: Sequence[str | int]) -> str:
    named = [str(each) for each in (parts[1:] if parts[:1] and parts[0] in _PLACES else parts)]
    return ".".join(named[:1] + [each for each in named[1:] if not _BRANCH.fullmatch(each)])[:200] or "the body"
