"""What a rule was bound to when it was registered: what the schema said, and the rules that it searches.

It follows the rule's text as a line of its own, so that the text alone says what the rule means, wherever it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

LINE = "\n#given "


@dataclass(frozen=True, eq=False)
class Given:
    """Terms are IRIs in N-Triples form. Only what differs from having no schema is there."""

    classes: Mapping[str, list[str]] = field(default_factory=dict)
    """A class to itself and the classes under it, sorted, where there are such."""
    ranges: Mapping[str, str] = field(default_factory=dict)
    """A property to the datatype that its values are read in (`rule_algebra`)."""
    references: tuple[str, ...] = ()
    """Properties whose values are resources."""
    rules: Mapping[str, GivenRule] = field(default_factory=dict)
    """The rules that it searches, by id, as they were then."""

    @property
    def is_empty(self) -> bool:
        return not (self.classes or self.ranges or self.references or self.rules)


@dataclass(frozen=True, eq=False)
class GivenRule:
    text: str
    """As written."""
    given: Given


NOTHING_GIVEN = Given()


def as_written(text: str) -> str:
    """A rule's text without what it was bound to."""
    start = _start(text)
    return text if start < 0 else text[:start]


def _start(text: str) -> int:
    """Where the line begins, with the break before it; -1 where the last line is no such one."""
    start = text.rfind("\n")
    return start if text.startswith(LINE, start) else -1


def with_given(text: str, given: Given) -> str:
    """A text that is `as_written`, bound."""
    if given.is_empty:
        return text
    return text + LINE + json.dumps(_slim(asdict(given)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def given_of(text: str) -> Given:
    """What a text is bound to."""
    start = _start(text)
    return NOTHING_GIVEN if start < 0 else _read(text[start + len(LINE) :])


def rules_within(given: Given, met: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The ids of all rules that are searched, those that they search included; each as the way that leads to it."""
    for id, rule in given.rules.items():
        yield (*met, id)
        yield from rules_within(rule.given, (*met, id))


def _slim(value: Any) -> Any:
    """Without what is empty."""
    if isinstance(value, dict):
        return {name: _slim(each) for name, each in value.items() if each or name in ("text", "given")}
    return value


@lru_cache(maxsize=1_000)
def _read(line: str) -> Given:
    return _restore(json.loads(line, strict=False))


def _restore(fields: Mapping[str, Any]) -> Given:
    rules = {id: GivenRule(each["text"], _restore(each["given"])) for id, each in fields.get("rules", {}).items()}
    return Given(fields.get("classes", {}), fields.get("ranges", {}), tuple(fields.get("references", ())), rules)
