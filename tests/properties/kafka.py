"""Documents through a real broker, with kills and restarts: every notification once, under the id that an engine gives.

``python -m tests.properties.kafka N`` goes N rounds; `TRIPLECAST_SEED` replays them. In a round, a process takes the
records of a topic, matches them and sends the notifications to another, again and again, while this one publishes,
kills it at a crash point or a random moment, and restarts the broker while it works or after it. In the end the topic
of notifications must hold exactly what an engine tells of the same records, which read_committed readers see once, and
each document's versions must be in order.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.kafka.broker import Broker, fetch_jars
from tests.kafka.relaying import relay_all
from tests.kafka.topics import take_all
from triplecast.crash_points import POINTS
from triplecast.engine import Engine
from triplecast.kafka import Kafka, relay

Sent = tuple[str | None, bytes | None, Mapping[str, str]]

CRASHES = tuple(point for point in POINTS if point.startswith(("kafka.", "journal.", "outbox.")))
PARTITIONS = 2
SILENCE = 300.0
"""Seconds in which a turn ends, also where brokers restart."""
QUERIES = {
    "numbers": "SELECT ?s ?n { ?s <http://e/number> ?n FILTER(?n > 3) }",
    "kinds": 'SELECT ?s { ?s <http://e/kind> "k1" }',
    "pairs": "SELECT * { ?s <http://e/number> ?n ; <http://e/next> ?t . ?t <http://e/number> ?m }",
}


def turn(folder: Path, kafka: Kafka) -> None:
    """Take what the topic holds, match it and send what is told."""
    relay.AT_ONCE = 7
    take_all(kafka, folder)
    with Engine.open(folder) as engine:
        live = {each.id for each in engine.subscriptions()}
        for name in sorted(QUERIES.keys() - live):
            engine.subscribe(QUERIES[name], id=name)
    relay_all(kafka, folder)


def records(random_of: random.Random, count: int) -> list[Sent]:
    """Documents, some of them broken, and removals."""
    found: list[Sent] = []
    for _ in range(count):
        graph, number = f"http://e/doc/{random_of.randrange(12)}", random_of.randrange(9)
        text = f'<{graph}> <http://e/number> {number} ; <http://e/kind> "k{number % 3}" ; <http://e/next> <{graph}#n> .'
        text += f" <{graph}#n> <http://e/number> {number % 2} ."
        if random_of.random() < 0.1:
            found.append((graph, None, {}))
        elif random_of.random() < 0.05:
            found.append((graph, text.encode()[:-3], {}))
        else:
            found.append((graph, text.encode(), {"content-type": "text/turtle"}))
    return found


def expected(sent: list[Sent]) -> Counter[str]:
    """What an engine tells: ids, and answers as JSON."""
    with Engine() as engine:
        for name, text in sorted(QUERIES.items()):
            engine.subscribe(text, id=name)
        for graph, text, _ in sent:
            if text is None:
                engine.remove(str(graph))
            else:
                engine.publish(text, None, graph)
        return Counter(_key(each.id, each.recorded.row()) for each in engine.notifications())


def _key(id: str, answers: Mapping[str, object]) -> str:
    names = ("added", "removed", "changed", "bindings", "answer")
    return f"{id} {json.dumps({name: answers[name] for name in names if name in answers}, sort_keys=True)}"


def play(broker: Broker, seed: int, folder: Path) -> Counter[str]:
    """Play a round; return what was killed. Raises AssertionError."""
    random_of = random.Random(seed)
    documents, told = f"documents-{seed}", f"told-{seed}"
    kafka = Kafka(broker.address, documents, told)
    broker.make_topic(documents, PARTITIONS)
    broker.make_topic(told, PARTITIONS)
    turn(folder, kafka)  # subscriptions come first
    killed: Counter[str] = Counter()
    sent: list[Sent] = []
    for _ in range(random_of.randrange(2, 5)):
        more = records(random_of, random_of.randrange(1, 40))
        for partition in range(PARTITIONS):
            mine = [each for each in more if hash_of(str(each[0])) == partition]
            broker.send(documents, *mine, partition=partition)
        sent += more
        restarts = random_of.choice((None, None, "after", "while"))
        sign = random_of.choice((signal.SIGKILL, signal.SIGTERM))
        child, kind = _start(random_of, folder, kafka)
        if restarts == "while":
            time.sleep(random_of.uniform(0.5, 4))
            broker.restart(sign)
        killed[_end(child, kind)] += 1
        if restarts == "after":
            broker.restart(sign)
        killed[f"broker by {sign.name} {restarts} a turn"] += restarts is not None
    turn(folder, kafka)
    check(broker, told, sent)
    return killed


def hash_of(graph: str) -> int:
    return sum(graph.encode()) % PARTITIONS


Child = subprocess.Popen[str]


def _start(random_of: random.Random, folder: Path, kafka: Kafka) -> tuple[Child, float | str]:
    """A turn in a process, and the crash point that is to kill it, or after how many seconds to do so."""
    command = [sys.executable, "-m", "tests.properties.kafka", "--turn", str(folder), kafka.brokers]
    command += [str(kafka.publications), str(kafka.notifications)]
    environment = dict(os.environ)
    kind = random_of.choice(CRASHES) if random_of.random() < 0.7 else random_of.uniform(0.5, 4)
    if isinstance(kind, str):
        environment["TRIPLECAST_CRASH"] = f"{kind}:{random_of.randrange(1, 4)}"
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return child, kind


def _end(child: Child, kind: float | str) -> str:
    try:
        _, errors = child.communicate(timeout=kind if isinstance(kind, float) else SILENCE)
    except subprocess.TimeoutExpired:
        assert isinstance(kind, float), f"a turn stood still for {SILENCE:.0f} s"
        child.kill()
        _, errors = child.communicate()
    assert child.returncode in (0, -signal.SIGKILL), errors
    return ("a moment" if isinstance(kind, float) else kind) if child.returncode else "nobody"


def check(broker: Broker, topic: str, sent: list[Sent]) -> None:
    rows = [(message.key().decode(), json.loads(message.value())) for message in broker.read(topic, PARTITIONS)]
    assert [key for key, _ in rows] == [row["id"] for _, row in rows]
    assert len({key for key, _ in rows}) == len(rows), "a notification came twice"
    versions = defaultdict(list)
    for _, row in rows:
        versions[row["subscription"], row["publication"]].append((row["version"], row["change"] == "removed"))
    assert all(each == sorted(each) for each in versions.values()), "versions are out of order"
    assert Counter(_key(id, row) for id, row in rows) == expected(sent), "something is lost or invented"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--turn"]:
        folder, brokers, *topics = arguments[1:]
        turn(Path(folder), Kafka(brokers, *topics))
        return
    rounds, seed = int(arguments[0]), int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    jars = fetch_jars()
    if isinstance(jars, str):
        sys.exit(jars)
    killed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="triplecast-kafka-") as place:
        broker, began = Broker(jars, Path(place)), time.monotonic()
        broker.start()
        try:
            for number in range(seed, seed + rounds):
                print(
                    f"seed {number} (replay: {SEED_VARIABLE}={number} python -m tests.properties.kafka 1)", flush=True
                )
                killed += play(broker, number, Path(place) / str(number))
        finally:
            broker.stop()
    print(f"{rounds} rounds in {time.monotonic() - began:.0f} s, nothing lost or repeated; killed:")
    for what, times in sorted(killed.items()):
        print(f"  {times:4}  {what}")


if __name__ == "__main__":
    main(sys.argv[1:])
