"""Records of all partitions of a topic, each once, from where the journal has come to (docs/kafka.md).

The folder's writer reads every partition itself, so nothing is ever rebalanced: who may read is who holds the folder's
lock. Its group's offsets in Kafka are for people who watch its lag, and carry the journal position of what was taken
(semantics 9.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from triplecast.errors import InputError, StorageFault
from triplecast.journal import JournalFile
from triplecast.kafka.connection import (
    Kafka,
    Topic,
    describe,
    describe_topic,
    import_client,
    insist,
    make_consumer,
    refuse_lasting,
)
from triplecast.kafka.records import Record
from triplecast.model.publication import FileState, Reject

DESCRIBED_SECONDS = 10.0
"""Between two looks for partitions that were added."""
_POLLED = 64
"""Records that are taken from the client at once; what it has fetched is bounded by its settings."""
_OUTCOME = "read"


def place_of(topic: str, partition: int) -> str:
    """The path under which the journal keeps how far a partition was read; no file of an inbox has it."""
    return f"kafka:{topic}/{partition}"


class TopicReader:
    """One thread reads. `places` are what the journal keeps of partitions; what is lost of them is a reject."""

    def __init__(self, kafka: Kafka, group: str, journal: JournalFile, report: Callable[[str], None]) -> None:
        """Raises InputError where no broker answers, there is no such topic, or access is refused; StorageFault where
        the journal ends before what was read with it."""
        assert kafka.publications is not None
        self._kafka, self._name, self._report = kafka, kafka.publications, report
        self._trouble = ""
        self._client = import_client()
        self._topic = describe_topic(kafka, self._name)
        self._consumer = make_consumer(kafka, group, self._note_error)
        self._next: dict[int, int] = {}
        """The offset of the next record, by partition."""
        self._committed = {p: s.size for p, s in self._known(journal).items()}
        self._looked = time.monotonic()
        self.lost: list[Reject] = []
        """Of records that were deleted before they were read; whoever commits them takes them from here."""
        try:
            self._check_journal(journal)
            self._assign(self._known(journal))
        except BaseException:
            self._consumer.close()
            raise

    def close(self) -> None:
        self._consumer.close()

    def ends(self) -> dict[int, int]:
        """Where each partition ends now: no record before that offset is still to be written."""
        return {p: self._watermarks(p)[1] for p in self._next}

    def is_at(self, ends: Mapping[int, int]) -> bool:
        """Whether all records before these offsets were read."""
        return all(self._next.get(p, 0) >= end for p, end in ends.items())

    def states(self) -> dict[str, FileState]:
        """What the journal is to keep with all that was read."""
        return {
            place_of(self._name, p): FileState(at, 0, self._topic.id, _OUTCOME) for p, at in sorted(self._next.items())
        }

    def read(self, most: int, size: int, wait: float) -> list[Record]:
        """Return the records that come next, at most `most`, and none after the one with which they have `size` bytes.
        Wait so many seconds for the first; none may come."""
        self._look_for_partitions()
        found: list[Record] = []
        held = 0
        message = self._consumer.poll(wait)
        messages = [] if message is None else [message]
        while messages:
            for message in messages:
                if message.error() is not None:
                    self._handle(message)
                    continue
                self._trouble = ""
                record = _record(message)
                if record.offset < self._next[record.partition]:
                    continue  # fetched before the partition was placed anew
                self._next[record.partition] = record.offset + 1
                found.append(record)
                held += len(record.value or b"") + len(record.key or b"")
            if held >= size or len(found) >= most:
                break
            messages = self._consumer.consume(min(_POLLED, most - len(found)), 0)
        return found

    def commit(self, position: int) -> None:
        """Tell Kafka how far the folder has come, and up to which journal position. A failure changes nothing."""
        changed = {p: at for p, at in self._next.items() if self._committed.get(p) != at}
        if not changed:
            return
        self._committed |= changed
        offsets = [self._client.TopicPartition(self._name, p, at, str(position)) for p, at in sorted(changed.items())]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except self._client.KafkaException as error:
            self._note_trouble(describe(error))

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _known(self, journal: JournalFile) -> dict[int, FileState]:
        places = {place_of(self._name, p): p for p in self._topic.partitions}
        return {places[place]: state for place, state in journal.sources([*places]).items()}

    def _check_journal(self, journal: JournalFile) -> None:
        """Refuse a journal that ends before the last position that Kafka was told (semantics 9.1)."""
        partitions = [self._client.TopicPartition(self._name, p) for p in self._topic.partitions]
        committed = insist(lambda left: self._consumer.committed(partitions, left), "how far its group is", self._name)
        told = [int(each.metadata) for each in committed if each.offset >= 0 and (each.metadata or "").isdecimal()]
        head = journal.head()
        if max(told, default=0) > head:
            raise StorageFault(
                str(Path(journal.where).parent),
                f"its journal ends at position {head}, but {self._name} was read up to position {max(told)}: "
                "it is an older copy",
                "restore the newest copy, or delete the offsets of its group in Kafka: then it goes on from this one",
            )

    def _assign(self, known: Mapping[int, FileState]) -> None:
        for partition in self._topic.partitions:
            self._next[partition] = self._start(partition, known.get(partition))
        assigned = [self._client.TopicPartition(self._name, p, at) for p, at in sorted(self._next.items())]
        self._consumer.assign(assigned)

    def _start(self, partition: int, known: FileState | None) -> int:
        """The offset from which a partition is read: where the journal has come to, or its first."""
        low, high = self._watermarks(partition)
        if known is None:
            return low
        if known.digest != self._topic.id and known.digest and self._topic.id:
            self._report(f"the topic {self._name} was made anew since: partition {partition} is read from its start")
            return low
        if known.size > high:
            found = f"partition {partition} of {self._name} ends at {high}, but was read up to {known.size}"
            raise InputError(f"{found}: its end is lost", "send what is missing to another topic, and name that")
        if known.size < low:
            reason = f"records {known.size} to {low - 1} were deleted from the topic before they were read"
            hint = "publish their documents again, and give the topic a longer retention"
            self.lost.append(Reject(f"{self._name}/{partition}/{known.size}", "gate", reason, hint))
        return max(low, known.size)

    def _watermarks(self, partition: int) -> tuple[int, int]:
        at = self._client.TopicPartition(self._name, partition)
        what = f"where partition {partition} ends"
        low, high = insist(lambda left: self._consumer.get_watermark_offsets(at, left), what, self._name)
        return int(low), int(high)

    def _look_for_partitions(self) -> None:
        if time.monotonic() - self._looked < DESCRIBED_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            topic = describe_topic(self._kafka, self._name, 5.0)
        except InputError:
            return  # the brokers are away for a while
        if topic.id != self._topic.id:
            self._read_anew(topic)
        added = [p for p in topic.partitions if p not in self._next]
        self._topic = topic
        if added:
            with suppress(self._client.KafkaException):
                self._consumer.list_topics(self._name, 5.0)  # until it is asked for, the client does not know of them
        for partition in added:
            self._next[partition] = self._start(partition, None)
            at = self._client.TopicPartition(self._name, partition, self._next[partition])
            self._consumer.incremental_assign([at])

    def _read_anew(self, topic: Topic) -> None:
        """Begin at the start of a topic that took the place of the one that was read."""
        self._report(f"the topic {self._name} was made anew: it is read from its start")
        self._topic = topic
        self._next.clear()
        self._consumer.unassign()
        self._assign({})

    def _handle(self, message: Any) -> None:
        """What a message that is no record says."""
        error, partition = message.error(), message.partition()
        errors = self._client.KafkaError
        if error.code() == errors._PARTITION_EOF:
            self._trouble = ""
            if partition in self._next:
                self._next[partition] = max(self._next[partition], message.offset())
            return
        refuse_lasting(error, self._name)
        if error.code() in (errors._AUTO_OFFSET_RESET, errors.OFFSET_OUT_OF_RANGE) and partition in self._next:
            known = FileState(self._next[partition], 0, self._topic.id, _OUTCOME)
            self._next[partition] = self._start(partition, known)
            self._consumer.seek(self._client.TopicPartition(self._name, partition, self._next[partition]))
            return
        self._note_trouble(error.str())

    def _note_error(self, error: Any) -> None:
        """Called by the client for what is of no partition; it goes on trying."""
        self._note_trouble(error.str())

    def _note_trouble(self, text: str) -> None:
        """Report a trouble once, until something is read again."""
        if not self._trouble:
            self._report(f"Kafka: {text}; reading goes on when it answers")
        self._trouble = text


def _record(message: Any) -> Record:
    headers = message.headers() or ()
    return Record(
        message.topic(), message.partition(), message.offset(), message.key(), message.value(), tuple(headers)
    )
