"""A relay in a process of its own, which may be killed: ``python -m tests.kafka.relaying FOLDER BROKERS TOPIC``."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from triplecast.journal import Journal
from triplecast.kafka import Kafka, relay, settle_group
from triplecast.kafka.relay import Relay


def main(folder: str, brokers: str, topic: str) -> None:
    relay.AT_ONCE = 16
    relay_all(Kafka(brokers, notifications=topic), Path(folder))


def relay_all(kafka: Kafka, folder: Path) -> None:
    """Send all that the outbox has."""
    with (
        Journal.open(folder) as journal,
        closing(Relay(kafka, settle_group(journal, kafka), journal, print)) as relayed,
    ):
        while relayed.is_behind():
            relayed.look()


if __name__ == "__main__":
    main(*sys.argv[1:])
