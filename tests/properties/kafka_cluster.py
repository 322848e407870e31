"""A stream of documents through a real broker and a Spark cluster, with restarts of the one and kills in the other.

``python -m tests.properties.kafka_cluster N`` sends N records, in parts, to a topic: new versions, removals, records
that come twice, broken ones. ``triplecast run --kafka`` matches them on a standalone cluster and sends notifications to
another topic, while three executors are killed, and the broker is killed and restarted. What committed readers then see
is compared with arithmetic over the records, which knows nothing of Triplecast: each notification once, with its rows;
and the ids of some graphs with those of an engine. `TRIPLECAST_SEED` replays the records.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.kafka.broker import Broker, fetch_jars
from tests.spark.test_cluster import Cluster, standalone, wait_until
from triplecast.engine import Engine
from triplecast.journal import Journal
from triplecast.kafka.connection import GROUP
from triplecast.outbox import Outbox
from triplecast.registry.files import load_subscriptions

PARTS = 12
FAULTS = {2: "executor", 4: "broker killed", 6: "executor", 8: "broker restarted", 10: "executor"}
"""What happens in which part."""
PARTITIONS, TOLD_PARTITIONS = 4, 2
SILENCE = 900.0
"""Seconds without anything new after which it is given up, on a machine that others use too."""
SAMPLED = 2_000
"""Graphs of which an engine says the ids."""
QUERIES = (
    ("kinds", "every", 'SELECT ?s { ?s <http://e/kind> "k1" }'),
    ("numbers", "changed", "SELECT ?n { ?s <http://e/number> ?n FILTER(?n > 3) }"),
    ("pairs", "every", "SELECT ?m { ?s <http://e/number> 7 ; <http://e/next> ?t . ?t <http://e/number> ?m }"),
)
_TEXT = """\
<{graph}> <http://e/number> {number} ; <http://e/kind> "k{kind}" ; <http://e/next> <{graph}#n> .
<{graph}#n> <http://e/number> {kind} .
"""


class Row(NamedTuple):
    """A notification, as far as it can be worked out."""

    subscription: str
    graph: str
    version: int
    change: str
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def digest(self) -> bytes:
        return hashlib.blake2b(repr(self).encode(), digest_size=16).digest()


class Sent(NamedTuple):
    """A record; without a text, a removal."""

    graph: str
    text: bytes | None


class Arithmetic:
    """Makes records, and works out what is to be told of them."""

    def __init__(self, seed: int, count: int) -> None:
        self._random = random.Random(seed)
        self._graphs = max(20, count // 5)
        self._versions: Counter[str] = Counter()
        self._now: dict[str, tuple[int, int]] = {}
        """Number and kind of each graph that is there."""
        self.rows: set[bytes] = set()
        self.broken = 0
        self.sampled: list[Sent] = []

    def part(self, count: int) -> Iterator[Sent]:
        """The next `count` records."""
        before: Sent | None = None
        for _ in range(count):
            sent = before if before is not None and self._random.random() < 0.02 else self._next()
            if int(sent.graph.rpartition("/")[2]) < SAMPLED:
                self.sampled.append(sent)
            is_broken = sent.text is not None and not sent.text.endswith(b".\n")
            self.broken += is_broken
            before = None if is_broken else sent
            yield sent

    def _next(self) -> Sent:
        graph = f"http://e/doc/{self._random.randrange(self._graphs)}"
        chance, number, kind = self._random.random(), self._random.randrange(9), self._random.randrange(4)
        if chance < 0.05:
            self._tell(graph, None)
            return Sent(graph, None)
        text = _TEXT.format(graph=graph, number=number, kind=kind).encode()
        if chance < 0.06:
            return Sent(graph, text[:-3])
        self._tell(graph, (number, kind))
        return Sent(graph, text)

    def _tell(self, graph: str, now: tuple[int, int] | None) -> None:
        before = self._now.pop(graph, None)
        if now is not None:
            self._now[graph] = now
            self._versions[graph] += now != before
        if now == before:
            return
        version = self._versions[graph]
        if now is not None:
            number, kind = now
            if kind == 1:
                self._add("kinds", graph, version, "added", (graph,), ())
            if number == 7:
                self._add("pairs", graph, version, "added", (str(kind),), ())
        was, is_now = ((str(each[0]),) if each is not None and each[0] > 3 else () for each in (before, now))
        if was != is_now:
            change = "changed" if was and is_now else "added" if is_now else "removed"
            self._add("numbers", graph, version, change, is_now, was)

    def _add(self, *row: Any) -> None:
        self.rows.add(Row(*row).digest())


def row_of(told: dict[str, Any]) -> Row:
    def values(name: str) -> tuple[str, ...]:
        solutions = told[name]["results"]["bindings"] if name in told else ()
        return tuple(sorted(each["value"] for solution in solutions for each in solution.values()))

    return Row(
        told["subscription"],
        told["publication"],
        told["version"],
        told["change"],
        values("answer"),
        values("removed"),
    )


class Run:
    """`triplecast run` between two topics of a broker, on a cluster, and what it has come to."""

    def __init__(self, folder: Path, broker: Broker, cluster: Cluster) -> None:
        self.subscriptions, self.output = folder / "subscriptions.jsonl", folder / "output"
        lines = [json.dumps({"id": name, "notify": notify, "text": text}) for name, notify, text in QUERIES]
        self.subscriptions.write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "triplecast.cli", "run", "--kafka", broker.address, "--master", cluster.master]
        command += ["--publications", "documents", "--notifications", "told"]
        command += ["--subscriptions", str(self.subscriptions), "--output", str(self.output)]
        self.said = folder / "said.log"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said)

    def sequence(self) -> int:
        """The last notification's."""
        assert self.process.poll() is None, self.said.read_text()[-2_000:]
        with Outbox.read_only(self.output) as outbox:
            return outbox.state.sequence

    def sent(self, broker: Broker) -> int:
        """The last notification's that was sent."""
        with Journal.read_only(self.output) as journal:
            return broker.committed("told", journal.settings()[GROUP])

    def reach(self, sequence: int, seconds: float) -> None:
        """Wait until so many are told, as long as there are new ones every so often."""
        before, until = self.sequence(), time.monotonic() + seconds
        while before < sequence:
            assert time.monotonic() < until, f"nothing was told for {seconds:.0f} s: {self.said.read_text()[-2_000:]}"
            time.sleep(0.5)
            if (now := self.sequence()) > before:
                before, until = now, time.monotonic() + seconds

    def processor_seconds(self) -> float:
        """Of the run's own process: readers, parsers that it has not given away, journal, outbox and relay."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(600) == 0, self.said.read_text()[-2_000:]


def play(count: int, seed: int, folder: Path, jars: Path) -> None:
    """Raises AssertionError."""
    random_of = random.Random(seed)
    arithmetic = Arithmetic(seed, count)
    with ExitStack() as closing:
        broker = Broker(jars, folder)
        closing.callback(broker.stop)
        broker.start()
        broker.make_topic("documents", PARTITIONS)
        broker.make_topic("told", TOLD_PARTITIONS)
        cluster = closing.enter_context(standalone(folder))
        run = Run(folder, broker, cluster)
        closing.callback(run.process.kill)
        producer = broker.producer(**{"enable.idempotence": True, "message.timeout.ms": 0})
        due, began = 0, 0.0
        for part in range(PARTS):
            size = count * (part + 1) // PARTS - count * part // PARTS
            send(producer, arithmetic.part(size))
            if part:
                run.reach(due, SILENCE)
            else:
                run.reach(1, SILENCE)
                began = time.monotonic()
            due = len(arithmetic.rows)
            hurt(FAULTS.get(part), broker, cluster, random_of)
            told = f"part {part + 1} of {PARTS} is sent after {time.monotonic() - began:.0f} s: {due} notifications due"
            print(told, f"; {FAULTS[part]}" if part in FAULTS else "", sep="", flush=True)
            assert producer.flush(SILENCE) == 0
        run.reach(due, SILENCE)
        took, busy = time.monotonic() - began, run.processor_seconds()
        wait_until(lambda: run.sent(broker) == due, SILENCE)
        run.end()
        check(broker, arithmetic, run)
    print(f"{count} records in {took:.0f} s, {count / took:.0f} a second; {due} notifications, each once")
    print(f"the run's own process took {busy:.0f} s of a processor, {busy / count * 1e6:.0f} µs a record")


def send(producer: Any, records: Iterator[Sent]) -> None:
    for each in records:
        place = int(each.graph.rpartition("/")[2]) % PARTITIONS
        while True:
            try:
                producer.produce("documents", each.text, each.graph, place, headers=[("content-type", b"text/turtle")])
                break
            except BufferError:
                producer.poll(0.1)


def hurt(what: str | None, broker: Broker, cluster: Cluster, random_of: random.Random) -> None:
    if what == "executor":
        wait_until(lambda: bool(cluster.executors()), SILENCE)
        os.kill(random_of.choice(cluster.executors()), signal.SIGKILL)
    elif what is not None:
        broker.restart(signal.SIGKILL if what == "broker killed" else signal.SIGTERM)


def check(broker: Broker, arithmetic: Arithmetic, run: Run) -> None:
    ids: set[str] = set()
    sampled: set[str] = set()
    rows = set(arithmetic.rows)
    for message in broker.each("told", TOLD_PARTITIONS):
        told = json.loads(message.value())
        assert message.key().decode() == told["id"]
        assert told["id"] not in ids, f"{told['id']} came twice"
        ids.add(told["id"])
        row = row_of(told)
        assert row.digest() in rows, f"{row} is invented, or came under two ids"
        rows.remove(row.digest())
        if int(row.graph.rpartition("/")[2]) < SAMPLED:
            sampled.add(told["id"])
    assert not rows, f"{len(rows)} notifications were lost"
    with Engine() as engine:
        engine.subscribe_many(load_subscriptions([run.subscriptions]).subscriptions)
        for graph, text in arithmetic.sampled:
            if text is None:
                engine.remove(graph)
            else:
                engine.publish(text, "text/turtle", graph)
        assert sampled == {each.id for each in engine.notifications()}, "ids are not those of an engine"
    with Journal.read_only(run.output) as journal:
        assert len(list(journal.rejects())) == arithmetic.broken


def main(count: int) -> None:
    seed = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    jars = fetch_jars()
    if isinstance(jars, str):
        sys.exit(jars)
    print(f"seed {seed} (replay: {SEED_VARIABLE}={seed} python -m tests.properties.kafka_cluster {count})", flush=True)
    with tempfile.TemporaryDirectory(prefix="triplecast-kafka-") as place:
        play(count, seed, Path(place), jars)


if __name__ == "__main__":
    main(int(sys.argv[1]))
