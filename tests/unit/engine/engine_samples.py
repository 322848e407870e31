"""Documents and queries small enough to read."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "PREFIX ex: <https://example.org/>\n"
TITLES = PREFIX + "SELECT ?title WHERE { ?item ex:title ?title ; ex:topic ex:rail }"
ANY_TITLE = PREFIX + "SELECT ?item ?title WHERE { ?item ex:title ?title }"
UNTITLED = PREFIX + "ASK { ?item ex:topic ?topic FILTER NOT EXISTS { ?item ex:title ?title } } LIMIT 1"


def turtle(title: str | None, topic: str = "rail", item: str = "item") -> str:
    says = "" if title is None else f' ; ex:title "{title}"'
    return f"@prefix ex: <https://example.org/> . ex:{item} ex:topic ex:{topic}{says} ."


@dataclass
class StepClock:
    """Microseconds since 1970; each look is a second later."""

    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now
