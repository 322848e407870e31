"""Items with 36 properties each, as Turtle, and subscriptions of one item by its properties.

60 properties. Where *hardly any* match, a value is one of 1,500 and a subscription has two of them; else values are
log-uniform among 3,000 and a subscription has one to three of them, so that some 0.22 % of 100,000 match an item. Every
second subscription has a range of years too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from benchmarks.workloads.texts import NAMESPACE

PROPERTIES = 60
OF_AN_ITEM = 35
_RARE, _COMMON = 1_500, 3_000
_YEARS = (1950, 2030)
Draw = Callable[[Random], int]


@dataclass(frozen=True, slots=True)
class Items:
    name: str
    subscriptions: list[str]
    documents: list[bytes]


def make_items(subscriptions: int, documents: int, many: bool, seed: int = 7) -> Items:
    random = Random(seed)
    draw = _draw_common if many else _draw_rare
    name = "items, many matches" if many else "items, hardly a match"
    queries = [_query(random, random.randint(1, 3) if many else 2, draw) for _ in range(subscriptions)]
    return Items(name, queries, [_document(random, number, draw) for number in range(documents)])


def _draw_rare(random: Random) -> int:
    return random.randrange(_RARE)


def _draw_common(random: Random) -> int:
    return min(int(_COMMON ** random.random()) - 1, _COMMON - 1)


def _query(random: Random, patterns: int, draw: Draw) -> str:
    keys = [(each, draw(random)) for each in random.sample(range(PROPERTIES), patterns)]
    lines = [f"?s <{NAMESPACE}p{each}> <{NAMESPACE}o{each}-{value}> ." for each, value in keys]
    if random.random() < 0.5:
        low, high = _YEARS[0] + random.randint(0, 60), 2012 + random.randint(0, 20)
        lines.append(f"?s <{NAMESPACE}year> ?y . FILTER(?y >= {low} && ?y < {high})")
    return f"SELECT ?s {{ {' '.join(lines)} }}"


def _document(random: Random, number: int, draw: Draw) -> bytes:
    chosen = random.sample(range(PROPERTIES), OF_AN_ITEM)
    pairs = [f"<{NAMESPACE}p{each}> <{NAMESPACE}o{each}-{draw(random)}>" for each in chosen]
    pairs.append(f"<{NAMESPACE}year> {random.randint(*_YEARS)}")
    return f"<{NAMESPACE}d{number}> ".encode() + " ;\n ".join(pairs).encode() + b" .\n"
