"""Random histories of documents and subscriptions that hear every version, what changed, or what is new, in an engine
that is closed and opened again in between, against a slow statement of what is told (`tests.reference.telling`).

``python -m tests.properties.told N`` runs N histories; ``--seed`` replays.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from tests.reference.telling import Subscriber, Telling, Told, telling_of
from triplecast import Document, Engine

EVENTS = 40
QUERIES = (
    "SELECT ?i ?t { ?i <urn:title> ?t }",
    "SELECT ?i { ?i <urn:title> ?t }",
    "SELECT ?i ?u { ?i <urn:title> ?t OPTIONAL { ?i <urn:by> ?u } }",
    'ASK { ?i <urn:title> "1" }',
    "SELECT ?i (COUNT(?t) AS ?n) { ?i <urn:title> ?t } GROUP BY ?i",
    "SELECT ?i ?t { ?i <urn:title> ?t } ORDER BY ?i ?t LIMIT 1",
    "SELECT ?t { ?i <urn:title> ?t FILTER NOT EXISTS { ?i <urn:by> ?u } }",
    "SELECT DISTINCT ?t { { ?i <urn:title> ?t } UNION { ?i <urn:by> ?t } }",
)

CONDITIONS = (
    "tc:before(?t) > ?t",
    "COALESCE(xsd:integer(?t) - xsd:integer(tc:before(?t)) != 1, true)",
    'COALESCE(tc:before(?u), "none") != COALESCE(?u, "none")',
    "?n != tc:before(?n) && ?n > 1",
    "tc:before(?n) < ?n || ?n = 1",
)
"""Of an update."""


def run_history(dice: random.Random, folder: Path) -> Counter[str]:
    """Raise AssertionError for the first event of which something else is told. Return how much of each kind was."""
    told, seen, number = Told(), Counter[str](), 0
    expected: list[Telling] = []
    engine = Engine.open(folder)
    try:
        for _ in range(EVENTS):
            act = dice.choices(("publish", "many", "remove", "subscribe", "cancel", "restart", "resync"), _WEIGHTS)[0]
            graph, now = dice.choice(_GRAPHS), list[Telling]()
            if act == "publish":
                text = document(dice)
                receipt = engine.publish(text, "application/n-triples", graph)
                if receipt.publications[0].outcome == "accepted":
                    now = told.publish(graph, text)
                assert sorted(map(telling_of, receipt.matches)) == sorted(now)
            elif act == "many":
                given = [(dice.choice(_GRAPHS), document(dice)) for _ in range(dice.randint(2, 5))]
                documents = [Document("d", text.encode(), "application/n-triples", name) for name, text in given]
                for (name, text), receipt in zip(given, engine.publish_many(documents), strict=True):
                    if receipt.publications[0].outcome == "accepted":
                        here = told.publish(name, text)
                        assert sorted(map(telling_of, receipt.matches)) == sorted(here)
                        now += here
            elif act == "remove" and graph in told.documents:
                removed = engine.remove(graph)
                now = told.remove(graph)
                assert removed is not None
                assert sorted(map(telling_of, removed.matches)) == sorted(now)
            elif act == "subscribe":
                number += 1
                subscriber = _subscriber(dice, f"s{number}")
                found = engine.subscribe(
                    subscriber.text,
                    id=subscriber.name,
                    scope=subscriber.scope,
                    notify=subscriber.notify,
                    initial=subscriber.initial,
                    key=subscriber.key,
                )
                now = told.subscribe(subscriber)
                assert [*map(telling_of, found.matches)] == now
            elif act == "cancel" and told.subscribers:
                name = dice.choice([*told.subscribers])
                engine.unsubscribe(name)
                del told.subscribers[name]
            elif act == "restart":
                engine.close()
                engine = Engine.open(folder)
            elif act == "resync":
                standing = [each for each in told.subscribers.values() if each.scope == "repository"]
                for each in standing[:1]:
                    now = [each.present()]
                    assert [*map(telling_of, engine.resync(each.name))] == now
            expected += now
            for each in now:
                subscriber = told.subscribers[each.subscription]
                seen[f"{'compared' if subscriber.compared else subscriber.notify} {each.change}"] += 1
        recorded = [telling_of(each) for each in engine.notifications()]
        assert sorted(recorded) == sorted(expected)
    finally:
        engine.close()
    return seen


_WEIGHTS = (8, 3, 2, 5, 1, 2, 1)
_GRAPHS = (*("urn:g:1", "urn:g:2", "urn:g:3") * 4, *(f"urn:g:{number}" for number in range(4, 10)))
"""Some often, and some of which the first version comes late."""


def _subscriber(dice: random.Random, name: str) -> Subscriber:
    query, scope = dice.choice(QUERIES), dice.choice(("publication", "publication", "repository"))
    notify = dice.choice(("every", "changed", "changed", "new"))
    has_key = "?i" in query.partition("{")[0] and notify == "changed" and dice.random() < 0.7
    initial = dice.choice(("all", "none"))
    compared = ""
    if has_key and (fitting := [each for each in CONDITIONS if _fits(each, query)]):
        compared = dice.choice(["", *fitting])
    return Subscriber(name, query, scope, notify, initial, ("i",) if has_key else (), compared)


def _fits(condition: str, query: str) -> bool:
    """Whether the query selects all variables of a condition."""
    selected = query.partition("{")[0].replace("COUNT(?t)", "")
    return all(name in selected for name in ("?t", "?u", "?n") if name in condition)


def document(dice: random.Random) -> str:
    lines = {
        f'<urn:i:{dice.randint(1, 3)}> <urn:{dice.choice(("title", "by"))}> "{dice.randint(1, 3)}" .'
        for _ in range(dice.randint(1, 4))
    }
    return "\n".join(sorted(lines)) + "\n"


def run_histories(seed: int, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                seen += run_history(random.Random(f"{seed} {number}"), Path(folder))
            except AssertionError as error:
                raise AssertionError(f"history {number} of seed {seed}: {error}") from error
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.told", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100, help="histories")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for what, times in sorted(run_histories(arguments.seed, arguments.count).items()):
        print(f"{times:8,} {what}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
