"""What a record of a topic asks for, whatever it holds; and what users may say of Kafka."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.ingest import Document
from triplecast.ingest.gate import GATE
from triplecast.kafka import Kafka
from triplecast.kafka.connection import import_client, read_settings
from triplecast.kafka.records import Arrival, Record, read_record
from triplecast.model.publication import Reject

IRI = b"http://e/1"


def read(key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> Arrival:
    return read_record(Record("docs", 2, 7, key, value, headers), dataset=True, split="<http://e/C>")


def test_the_key_is_the_graph_and_headers_say_how_it_is_read() -> None:
    found = read(IRI, b"<> a <http://e/C> .", ("Content-Type", b" text/turtle "), ("triplecast-version", b"12"))
    assert found.change == Document(
        "docs/2/7", b"<> a <http://e/C> .", "text/turtle", "http://e/1", True, split="<http://e/C>"
    )
    assert (found.graph, found.version) == ("http://e/1", 12)
    bare = read(None, b"<http://e/s> a <http://e/C> .")
    assert isinstance(bare.change, Document)
    assert (bare.change.media_type, bare.change.graph, bare.version) == (None, None, None)


def test_no_value_removes_and_an_empty_one_is_a_document() -> None:
    assert read(IRI, None).change == "http://e/1"
    assert isinstance(read(IRI, b"").change, Document)


@pytest.mark.parametrize(
    ("arrival", "reason"),
    [
        (read(None, None), "neither key nor value"),
        (read(b"\xff", b""), "no UTF-8"),
        (read(IRI, b"", ("content-type", b"\xff")), "no UTF-8"),
        (read(IRI, b"", ("triplecast-version", b"-1")), "triplecast-version is '-1'"),
        (read(IRI, b"", ("triplecast-version", b"9" * 19)), "triplecast-version"),
        (read(None, b"", ("triplecast-version", b"1")), "no key"),
        (read(IRI, bytes(GATE.bytes + 1)), "16777217 bytes"),
    ],
)
def test_what_cannot_be_read_is_a_reject_with_its_place(arrival: Arrival, reason: str) -> None:
    assert isinstance(arrival.change, Reject)
    assert arrival.change.source == "docs/2/7"
    assert reason in arrival.change.reason
    assert arrival.change.hint


def test_nothing_raises(seed: int) -> None:
    random_of = random.Random(seed)

    def some() -> bytes | None:
        return None if random_of.random() < 0.2 else random_of.randbytes(random_of.randrange(8))

    for _ in range(2_000):
        names = random_of.choices(["content-type", "triplecast-version", "x"], k=random_of.randrange(4))
        arrival = read(some(), some(), *((name, some()) for name in names))
        assert isinstance(arrival.change, Document | str | Reject)


def test_settings_are_lines_and_ours_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("# of the cluster\n\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n")
    assert read_settings(file) == {"security.protocol": "SASL_SSL", "sasl.password": "a=b"}
    assert "a=b" not in repr(Kafka("b:9092", "docs", settings=read_settings(file)))
    for text, found in (
        ("enable.auto.commit=true\n", ":1 sets enable.auto.commit"),
        ("log.connection.close=false\n", ":1 sets log"),  # the relay would not be told of lost brokers
        ("\nwhat\n", ":2 is no"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=found):
            read_settings(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "missing")


def test_topics_are_two() -> None:
    with pytest.raises(InputError, match="no topic"):
        Kafka("b:9092")
    with pytest.raises(InputError, match="both topics"):
        Kafka("b:9092", "docs", "docs")


def test_without_the_client_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(InputError, match=r"confluent-kafka is not installed; pip install '.\[kafka\]'"):
        import_client()
