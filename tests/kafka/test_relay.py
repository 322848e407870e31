"""Notifications that go to a topic of a real broker: whoever reads what is committed sees each once, in order."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.broker import Broker
from tests.kafka.relaying import relay_all
from triplecast.engine import Engine
from triplecast.errors import PipelineFailed, StorageFault
from triplecast.journal import Journal
from triplecast.kafka import Kafka, relay, settle_group
from triplecast.kafka.relay import Relay
from triplecast.outbox import Outbox

Topics = tuple[str, str]
QUERY = "SELECT ?s ?n { ?s <http://e/number> ?n }"


def publish(folder: Path, documents: int, first: int = 0, texts: str = "") -> None:
    """Versions of ten documents."""
    with Engine.open(folder) as engine:
        for name in ("one", "two"):
            if engine.statistics().live.narrow + engine.statistics().live.predicate < 2:
                engine.subscribe(QUERY, id=name, notify="every")
        for number in range(first, first + documents):
            text = f'<http://e/{number % 10}> <http://e/number> {number} ; <http://e/text> "{texts}" .'
            engine.publish(text, "text/turtle", f"http://e/{number % 10}")


def lines(folder: Path) -> list[str]:
    with Outbox.read_only(folder) as outbox, Journal.read_only(folder) as journal:
        from triplecast.model.operators import NO_OPERATORS
        from triplecast.outbox import Definitions

        found = outbox.json_lines(definitions=Definitions(journal.registrations, NO_OPERATORS))
        return [line for _, text in found for line in text.split("\n")[:-1]]


def group_of(folder: Path) -> str:
    with Journal.read_only(folder) as journal:
        return journal.settings()["kafka group"]


def sent(broker: Broker, topic: str, partitions: int = 3) -> list[Any]:
    return broker.read(topic, partitions)


def check_each_once(broker: Broker, topic: str, folder: Path) -> None:
    found = sent(broker, topic)
    assert sorted(message.value().decode() for message in found) == sorted(lines(folder))
    assert [json.loads(message.value())["id"] for message in found] == [message.key().decode() for message in found]
    versions = defaultdict(list)
    for message in found:
        row = json.loads(message.value())
        versions[row["subscription"], row["publication"]].append(row["version"])
    assert all(each == sorted(each) for each in versions.values())


def test_each_notification_is_sent_once_under_its_id_and_in_order(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "AT_ONCE", 16)
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 60)
    relay_all(kafka, tmp_path)
    check_each_once(broker, topic, tmp_path)
    publish(tmp_path, 20, 60)
    for _ in range(2):
        relay_all(kafka, tmp_path)
        assert len(sent(broker, topic)) == 160
    assert broker.committed(topic, group_of(tmp_path)) == 160, "the sequence goes with what is sent"
    check_each_once(broker, topic, tmp_path)


def test_a_relay_that_has_lost_a_broker_is_behind_until_it_has_looked(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 1)
    with (
        Journal.open(tmp_path) as journal,
        closing(Relay(kafka, settle_group(journal, kafka), journal, print)) as relayed,
    ):
        relayed.look()
        assert not relayed.is_behind()
        relayed._note_lost(None)
        assert relayed.is_behind()
        relayed.look()
        assert not relayed.is_behind()


@pytest.mark.parametrize("point", ["kafka.sending:2", "kafka.sent:2"])
def test_a_relay_that_is_killed_leaves_nothing_out_and_repeats_nothing(
    broker: Broker, topics: Topics, tmp_path: Path, point: str
) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 40)
    command = [sys.executable, "-m", "tests.kafka.relaying", str(tmp_path), broker.address, topic]
    environment = os.environ | {"TRIPLECAST_CRASH": point}
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    relay_all(kafka, tmp_path)
    check_each_once(broker, topic, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("is_told", [True, False])
def test_brokers_that_restart_hold_notifications_up(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    """Also where the client waits for ever, as librdkafka does for a coordinator that has gone unless it `is_told`. The
    broker is killed when it has acknowledged a transaction: often it never ends that one then, or ends it in some
    partitions. What of it is in the others, the next transaction's abort takes away."""
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 20)
    monkeypatch.setattr(relay, "_SECONDS", 3.0)
    if not is_told:
        monkeypatch.setattr(Relay, "_note_lost", lambda self, error: None)
    with Engine.open(tmp_path) as engine:
        journal, said = engine._journal, list[str]()
        with closing(Relay(kafka, settle_group(journal, kafka), journal, said.append)) as relayed:
            for number in range(20, 22):
                while relayed.is_behind():
                    relayed.look()
                broker.restart(signal.SIGKILL)
                for each in range(10):
                    engine.publish(f"<http://e/{each}> <http://e/number> {number} .", "text/turtle", f"http://e/{each}")
            while relayed.is_behind():
                relayed.look()
    check_each_once(broker, topic, tmp_path)
    assert is_told or "Kafka: the group's coordinator does not answer" in " ".join(said)


@pytest.mark.parametrize("deleted", [False, True])
def test_what_brokers_acknowledged_and_then_aborted_is_sent_again(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted: bool
) -> None:
    """In one partition; the others, and the place of the group, were committed. Where records were `deleted` since,
    nobody knows: then none is repeated."""
    from confluent_kafka import TopicPartition

    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    relay_all(kafka, tmp_path)
    publish(tmp_path, 10, 10)
    produce, left_out = Relay._produce, list[str]()

    class Partition(Relay):
        def _produce(self, line: relay.OutgoingLine, *more: Any) -> None:
            if relay.crc32(f"{line.registration} {line.publication}".encode()) % 3 == 1:
                left_out.append(line.id)
            else:
                produce(self, line, *more)

        def _note(self) -> None:
            """Killed before."""

    with Journal.open(tmp_path) as journal, closing(Partition(kafka, group_of(tmp_path), journal, print)) as relayed:
        while relayed.is_behind():
            relayed.look()
    assert left_out
    assert broker.committed(topic, group_of(tmp_path)) == 40
    if deleted:
        place = TopicPartition(topic, 0, -1)  # all of a partition
        broker.admin.delete_records([place])[place].result(30)
    relay_all(kafka, tmp_path)
    if deleted:
        assert {*left_out}.isdisjoint(message.key().decode() for message in sent(broker, topic))
    else:
        check_each_once(broker, topic, tmp_path)


def test_what_is_behind_a_transaction_of_another_is_not_repeated(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads it before that one has ended."""
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    other = broker.producer(**{"transactional.id": "other"})
    other.init_transactions(30)
    other.begin_transaction()
    for partition in range(3):
        other.produce(topic, b"", b"", partition)
    other.flush(30)
    with monkeypatch.context() as patch:
        patch.setattr(Relay, "_find_open", lambda *_: None)  # it began before the other
        patch.setattr(Relay, "_note", lambda *_: None)  # and was killed
        relay_all(kafka, tmp_path)
    monkeypatch.setattr(relay, "_SECONDS", 1.0)
    monkeypatch.setattr(relay, "_LEFT_OPEN_SECONDS", 0.2)
    said = list[str]()
    with Journal.open(tmp_path) as journal, closing(Relay(kafka, group_of(tmp_path), journal, said.append)) as relayed:
        for _ in range(3):  # the first may find the client's last transaction not ended yet
            assert not relayed.look()
        other.abort_transaction(30)
        while relayed.is_behind():
            relayed.look()
    assert f"what is to be sent to {topic} waits for it" in said[0]
    check_each_once(broker, topic, tmp_path)


def test_a_relay_that_was_stopped_for_longer_than_a_transaction_lasts_goes_on(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The brokers fence it then, as another of its name does."""
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic, settings={"transaction.timeout.ms": "1000"})
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    stops = iter(["kafka.sending"])
    monkeypatch.setattr(relay, "reach", lambda point: time.sleep(3.0) if point == next(stops, "") else None)
    relay_all(kafka, tmp_path)
    assert not [*stops]
    check_each_once(broker, topic, tmp_path)


def test_what_a_cancelled_subscription_was_to_hear_is_not_sent(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics[1]
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    with Engine.open(tmp_path) as engine:
        engine.subscribe(QUERY, id="gone", notify="every", owner="o")
        engine.publish("<http://e/1> <http://e/number> 99 .", "text/turtle", "http://e/1")
    with Journal.open(tmp_path) as journal:
        journal.cancel([journal.live_ids(["gone"])["gone"]])
    relay_all(Kafka(broker.address, notifications=topic), tmp_path)
    assert {json.loads(each.value())["subscription"] for each in sent(broker, topic)} == {"one", "two"}
    assert len(sent(broker, topic)) == 22


def test_a_group_that_kafka_has_forgotten_repeats_nothing(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 20)
    relay_all(kafka, tmp_path)
    with Journal.read_only(tmp_path) as journal:
        assert ":40 " in journal.settings()[f"kafka sent {topic}"]
    group = group_of(tmp_path)
    publish(tmp_path, 5, 20)
    with Journal.open(tmp_path) as journal:
        journal.set_setting(f"kafka sent {topic}", "1:7")  # as a run that was killed left it
    broker.admin.delete_consumer_groups([group])[group].result(30)
    relay_all(kafka, tmp_path)
    check_each_once(broker, topic, tmp_path)


def test_what_the_topic_has_beyond_the_place_told_is_not_repeated(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where some partitions of a transaction were committed, and that of the place was not."""
    from confluent_kafka import Consumer, TopicPartition

    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 20)
    with monkeypatch.context() as patch:
        patch.setattr(Relay, "_note", lambda self: None)
        relay_all(kafka, tmp_path)
    with Outbox.read_only(tmp_path) as outbox:
        place = TopicPartition(topic, 0, 10, f"{outbox.state.epoch}:10")
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group_of(tmp_path)})
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    publish(tmp_path, 5, 20)
    relay_all(kafka, tmp_path)
    check_each_once(broker, topic, tmp_path)
    assert broker.committed(topic, group_of(tmp_path)) == 50


def test_what_was_pruned_before_it_was_sent_is_passed_over(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    with Engine.open(tmp_path) as engine:
        engine.prune(14)
    relay_all(kafka, tmp_path)
    assert len(lines(tmp_path)) == 6
    check_each_once(broker, topic, tmp_path)
    with Engine.open(tmp_path) as engine:
        engine.prune(20)
    publish(tmp_path, 5, 10)
    relay_all(kafka, tmp_path)
    assert len(sent(broker, topic)) == 6 + 10


def test_an_outbox_older_than_what_was_sent_is_refused(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path / "run", 5)
    relay_all(kafka, tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    publish(tmp_path / "run", 5, 5)
    relay_all(kafka, tmp_path / "run")
    with Journal.open(tmp_path / "copy") as journal, pytest.raises(StorageFault, match="older copy"):
        Relay(kafka, settle_group(journal, kafka), journal, [].append).look()


def test_an_outbox_that_is_made_anew_sends_what_the_topic_lacks(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path, 10)
    relay_all(kafka, tmp_path)
    for file in tmp_path.glob("outbox*"):
        file.unlink()
    publish(tmp_path, 10, 10)
    relay_all(kafka, tmp_path)
    found = [message.key() for message in sent(broker, topic)]
    assert len(found) == len({*found}) == 40


def test_a_copy_of_the_folder_ends_the_relay_of_the_other(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics[1]
    kafka = Kafka(broker.address, notifications=topic)
    broker.make_topic(topic, 3)
    publish(tmp_path / "run", 5)
    with Journal.open(tmp_path / "run") as journal:
        group = settle_group(journal, kafka)
        with closing(Relay(kafka, group, journal, [].append)) as relayed:
            assert relayed.look()
            shutil.copytree(tmp_path / "run", tmp_path / "copy")
            publish(tmp_path / "copy", 5, 5)
            relay_all(kafka, tmp_path / "copy")
            relayed._reached = 0
            with pytest.raises(PipelineFailed, match="another run"):
                relayed.look()


def test_a_notification_too_large_for_a_record_is_sent_without_its_answers(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    topic = topics[1]
    broker.make_topic(topic, 3)
    with Engine.open(tmp_path) as engine:
        engine.subscribe("SELECT ?t { ?s <http://e/text> ?t }", id="texts")
        engine.publish(
            f'<http://e/1> <http://e/text> "{"x" * 950_000}", "{"y" * 950_000}" .', "text/turtle", "http://e/1"
        )
        engine.publish('<http://e/2> <http://e/text> "y" .', "text/turtle", "http://e/2")
    relay_all(Kafka(broker.address, notifications=topic), tmp_path)
    rows = {row["publication"]: row for row in (json.loads(each.value()) for each in sent(broker, topic))}
    assert "bytes" in rows["http://e/1"]["omitted"]
    assert "answer" not in rows["http://e/1"]
    assert "omitted" not in rows["http://e/2"]
    assert rows["http://e/2"]["answer"]
