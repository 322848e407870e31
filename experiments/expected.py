"""What may stand in an ``expected.json``: each kind of check with its options, so that a slip of the pen is told where
it stands instead of being passed over."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """What an option's value looks like."""

    says: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_band(value: Any) -> bool:
    """One end may be open."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    ends = [end for end in value if end is not None]
    return bool(ends) and all(map(_is_number, ends)) and ends == sorted(ends)


_TEXT = Shape("a name in quotes", lambda value: isinstance(value, str) and bool(value))
_FLAG = Shape("true or false", lambda value: isinstance(value, bool))
_NUMBER = Shape("a number", _is_number)
_BAND = Shape("[least, most], null for an end that is open", _is_band)
_PLACE = Shape('"last", "all" or an x', lambda value: value in ("last", "all") or _is_number(value))
_POINT = Shape('"all" or an x', lambda value: value == "all" or _is_number(value))
_CHECKS = Shape("a list of checks", lambda value: isinstance(value, list) and len(value) > 0)
_OBJECT = Shape("an object", lambda value: isinstance(value, dict))

_LINE = {"line": _TEXT, "of": _TEXT}
_TOLD = {"told": _TEXT}

CLAIM = (
    {"name": _TEXT, "figure": _TEXT, "says": _TEXT, "check": _OBJECT},
    {"full_only": _FLAG, "ours": _FLAG, "discounted": _TEXT},
)
"""(what a claim must have, what it may have)."""

KINDS: Mapping[str, tuple[Mapping[str, Shape], Mapping[str, Shape]]] = {
    "growth": (_LINE | {"between": _BAND}, _TOLD),
    "linear": (_LINE, _TOLD | {"between": _BAND}),
    "rises": (_LINE, _TOLD | {"by": _NUMBER}),
    "steady": (_LINE | {"at_most": _NUMBER}, _TOLD),
    "adds": (_LINE | {"between": _BAND}, _TOLD),
    "factor": (_LINE | {"from": _NUMBER, "to": _NUMBER, "between": _BAND}, _TOLD),
    "share": ({"line": _TEXT, "of": _TEXT, "part": _TEXT, "from": _NUMBER, "to": _NUMBER, "at_least": _NUMBER}, _TOLD),
    "ratio": (
        {"over": _TEXT, "under": _TEXT, "of": _TEXT},
        _TOLD | {"at_least": _NUMBER, "at_most": _NUMBER, "at": _PLACE},
    ),
    "widens": ({"over": _TEXT, "under": _TEXT, "of": _TEXT, "at_least": _NUMBER}, _TOLD),
    "value": (_LINE | {"at": _POINT, "between": _BAND}, _TOLD),
    "either": ({"checks": _CHECKS}, {}),
    "both": ({"checks": _CHECKS}, {}),
}
"""By kind of check: (options that it must have, options that it may have)."""


def read_expected(path: Path) -> list[Mapping[str, Any]]:
    """The claims of an ``expected.json``, each checked. Raises ValueError with the file, the claim, what is wrong and
    what was expected."""
    try:
        content = json.loads(path.read_text("utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as JSON: {error}") from error
    entries = content.get("claims") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f'{path}: expected {{"claims": [...]}}, each claim an object')
    names = []
    for place, entry in enumerate(entries, 1):
        where = f"{path}: claim {entry.get('name') or f'number {place}'}"
        _check_options(where, entry, *CLAIM)
        check_check(where, entry["check"])
        names.append(entry["name"])
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: claim {name}: the name occurs twice: a claim's name is its own")
    return entries


def check_check(where: str, check: Any) -> None:
    """Raises ValueError, which begins with `where`."""
    if not isinstance(check, dict):
        raise ValueError(f"{where}: a check is {check!r}, expected an object")
    kind = check.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{where}: no check {kind!r}, but {[*KINDS]}")
    needed, optional = KINDS[kind]
    _check_options(f"{where}: check {kind!r}", check, {"kind": _TEXT, **needed}, optional)
    if kind == "ratio" and not {"at_least", "at_most"} & set(check):
        raise ValueError(f"{where}: check 'ratio': 'at_least' or 'at_most' is missing: it would always hold")
    for number, each in enumerate(check.get("checks", ()), 1):
        check_check(f"{where}: check {kind!r}, number {number}", each)


def _check_options(
    where: str, given: Mapping[str, Any], needed: Mapping[str, Shape], optional: Mapping[str, Shape]
) -> None:
    known = {**needed, **optional}
    for name in needed:
        if name not in given:
            raise ValueError(f"{where}: {name!r} is missing: expected {needed[name].says}")
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{where}: no option {name!r}, but {[*known]}")
        if not known[name].fits(value):
            raise ValueError(f"{where}: {name!r} is {value!r}, expected {known[name].says}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
