"""Documents of a topic, from a real broker: each once, in order, whatever the topic holds and whoever ends."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.kafka.broker import Broker
from tests.kafka.topics import TURTLE, events, rejected, take_all, taking, turtle
from triplecast.errors import InputError, StorageFault
from triplecast.ingest.gate import GATE
from triplecast.kafka import Kafka, topic_reader
from triplecast.kafka.connection import describe_topic

Topics = tuple[str, str]


def test_each_record_is_taken_once_and_what_is_wrong_harms_nobody(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    deep = b"[" * 100_000
    broker.send(
        topic,
        ("http://e/1", turtle(1), TURTLE),
        ("http://e/1", turtle(1), TURTLE),
        ("http://e/2", b"<http://e/s> <http://e/p> ", TURTLE),
        ("http://e/3", deep, {"content-type": "application/ld+json"}),
        ("http://e/4", b" " * (GATE.bytes + 1), TURTLE),
        ("no iri", turtle(5), TURTLE),
        (None, turtle(6), {}),
        ("http://e/7", None, {}),
        ("http://e/1", None, {}),
        ("http://e/1", turtle(1), {}),
    )
    take_all(kafka, tmp_path)
    expected = [
        ("Publication", "http://e/1", 1),
        ("Publication", f"urn:triplecast:document:{topic}/0/6", 1),
        ("Removal", "http://e/1", 1),
        ("Publication", "http://e/1", 2),
    ]
    assert events(tmp_path) == expected
    assert [place for place, _ in rejected(tmp_path)] == [f"{topic}/0/{offset}" for offset in (2, 3, 4, 5)]

    broker.send(topic, ("http://e/9", turtle(9), TURTLE))
    again = take_all(kafka, tmp_path)
    assert events(tmp_path) == [*expected, ("Publication", "http://e/9", 1)]
    assert again.acceptor.taken.accepted == 1
    assert again.told == []


def test_a_version_that_comes_again_or_too_late_is_not_taken(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)

    def version(number: int) -> dict[str, str]:
        return TURTLE | {"triplecast-version": str(number)}

    bad = b"<http://e/1> <http://e/number> "
    broker.send(
        topic,
        ("http://e/1", turtle(1, 10), version(10)),
        ("http://e/1", turtle(1, 9), version(9)),
        ("http://e/1", bad, version(12)),
        ("http://e/1", turtle(1, 11), version(11)),
    )
    take_all(kafka, tmp_path)
    broker.send(
        topic,
        ("http://e/1", turtle(1, 99), version(11)),
        ("http://e/1", None, version(10)),
        ("http://e/1", None, version(13)),
        ("http://e/1", turtle(1, 12), version(12)),
        ("http://e/1", turtle(1, 14), {}),
    )
    taken = take_all(kafka, tmp_path)
    assert events(tmp_path) == [
        ("Publication", "http://e/1", 1),
        ("Publication", "http://e/1", 2),
        ("Removal", "http://e/1", 2),
        ("Publication", "http://e/1", 3),
    ]
    late = [(place, reason) for place, reason in rejected(tmp_path) if "comes after" in reason]
    assert [place.rpartition("/")[2] for place, _ in late] == ["1", "5", "7"]
    assert "version 9 of http://e/1 comes after version 10" in late[0][1]
    assert taken.acceptor.taken.unchanged == 1


def test_what_an_aborted_transaction_wrote_is_not_there(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    producer = broker.producer(**{"transactional.id": topic})
    producer.init_transactions(60)
    for number, commits in enumerate((True, False, True, False)):
        producer.begin_transaction()
        producer.produce(topic, turtle(number), f"http://e/{number}")
        producer.flush(30)
        (producer.commit_transaction if commits else producer.abort_transaction)(30)
    for _ in range(2):
        take_all(kafka, tmp_path)
        assert [graph for _, graph, _ in events(tmp_path)] == ["http://e/0", "http://e/2"]


def test_a_cut_document_is_removed_with_its_parts(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    both = b"<http://e/a> a <http://e/C> . <http://e/b> a <http://e/C> ."
    broker.send(topic, ("http://e/doc", both, TURTLE), ("http://e/doc", None, {}))
    take_all(kafka, tmp_path, split="<http://e/C>")
    assert sorted(events(tmp_path)) == [
        ("Publication", "http://e/a", 1),
        ("Publication", "http://e/b", 1),
        ("Removal", "http://e/a", 1),
        ("Removal", "http://e/b", 1),
    ]


def test_records_that_were_deleted_before_they_were_read_are_told(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    from confluent_kafka import TopicPartition

    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, *((f"http://e/{n}", turtle(n), TURTLE) for n in range(3)))
    take_all(kafka, tmp_path)
    broker.send(topic, *((f"http://e/{n}", turtle(n), TURTLE) for n in range(3, 9)))
    for future in broker.admin.delete_records([TopicPartition(topic, 0, 7)]).values():
        future.result(30)
    take_all(kafka, tmp_path)
    assert [graph for _, graph, _ in events(tmp_path)] == [f"http://e/{n}" for n in (0, 1, 2, 7, 8)]
    ((place, reason),) = rejected(tmp_path)
    assert place == f"{topic}/0/3"
    assert reason == "records 3 to 6 were deleted from the topic before they were read"


def test_a_topic_that_was_made_anew_is_read_from_its_start(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, *((f"http://e/{n}", turtle(n), TURTLE) for n in range(3)))
    take_all(kafka, tmp_path)
    broker.delete_topic(topic)
    with pytest.raises(InputError, match=f"there is no topic {topic}"):
        take_all(kafka, tmp_path)
    broker.make_topic(topic)
    broker.send(topic, *((f"http://e/{n}", turtle(n), TURTLE) for n in range(10, 15)))
    taken = take_all(kafka, tmp_path)
    assert [graph for _, graph, _ in events(tmp_path)] == [f"http://e/{n}" for n in (0, 1, 2, 10, 11, 12, 13, 14)]
    assert "was made anew" in str(taken.told)


def test_an_older_copy_of_the_folder_is_refused(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, ("http://e/1", turtle(1), TURTLE))
    take_all(kafka, tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    broker.send(topic, ("http://e/2", turtle(2), TURTLE))
    take_all(kafka, tmp_path / "run")
    with pytest.raises(StorageFault, match="older copy"):
        take_all(kafka, tmp_path / "copy")
    take_all(kafka, tmp_path / "run")


@pytest.mark.slow
def test_brokers_that_restart_and_partitions_that_are_added(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka.admin import NewPartitions

    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, *((f"http://e/{n}", turtle(n), TURTLE) for n in range(300)))
    monkeypatch.setattr(topic_reader, "DESCRIBED_SECONDS", 0.2)
    with taking(kafka, tmp_path) as (taken, journal):
        reader = taken.acceptor._reader
        assert taken.drain()
        broker.restart(signal.SIGKILL)
        broker.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
        while len(describe_topic(kafka, topic).partitions) < 2:
            time.sleep(0.1)
        broker.send(topic, ("http://e/300", turtle(300), TURTLE))
        broker.send(topic, ("http://e/301", turtle(301), TURTLE), partition=1)
        until = time.monotonic() + 60
        taken.acceptor._ends = {0: 301, 1: 1}
        assert taken.drain()
        assert time.monotonic() < until
        assert reader.is_at({0: 301, 1: 1})
        assert journal.count_publications(0) == 302
    assert sorted(graph for _, graph, _ in events(tmp_path)) == sorted(f"http://e/{n}" for n in range(302))


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("confluent_kafka", reason="the extra [kafka] is not installed")
    monkeypatch.setattr("triplecast.kafka.connection.describe_topic.__defaults__", (0.5,))
    with pytest.raises(InputError, match="does not answer"):
        take_all(Kafka("127.0.0.1:9", "docs"), tmp_path)


def test_an_open_transaction_is_not_waited_for(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, ("http://e/1", turtle(1), TURTLE))
    producer = broker.producer(**{"transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, turtle(2), "http://e/2")
    producer.flush(30)
    began = time.monotonic()
    take_all(kafka, tmp_path)
    assert time.monotonic() - began < 20
    producer.commit_transaction(30)
    take_all(kafka, tmp_path)
    assert [graph for _, graph, _ in events(tmp_path)] == ["http://e/1", "http://e/2"]


def test_reading_goes_on_at_the_offset_of_the_last_commit(
    broker: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, kafka = topics[0], Kafka(broker.address, topics[0])
    broker.make_topic(topic)
    broker.send(topic, *((f"http://e/{n % 3}", turtle(n % 3, n), TURTLE) for n in range(40)))
    monkeypatch.setattr("triplecast.pipeline.topic_acceptor.GROUP_DOCUMENTS", 8)
    with taking(kafka, tmp_path) as (taken, journal):
        commit = journal.commit_changes

        def fail_third(*arguments: object) -> object:
            if taken.acceptor.taken.accepted >= 16:
                raise StorageFault("journal", "it is full", "free space")
            return commit(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(journal, "commit_changes", fail_third)
        with pytest.raises(StorageFault, match="full"):
            taken.drain()
    again = take_all(kafka, tmp_path)
    assert (again.acceptor.taken.accepted, again.acceptor.taken.unchanged) == (24, 0)
    assert [version for _, graph, version in events(tmp_path) if graph == "http://e/0"] == list(range(1, 15))
