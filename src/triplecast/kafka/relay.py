"""The relay: what the outbox records goes to a topic, each notification in one committed transaction.

A broker may acknowledge a commit, and yet abort some of it when it restarts. So a relay trusts what it has seen ended:
the folder keeps a sequence up to which the topic has all, and where its partitions ended then. Who begins reads the ids
that the topic holds from there on, and sends the others. A relay that has lost a broker begins again, and first aborts
what restarts have left open (decision 33).

With the notifications of a transaction goes the sequence reached, as the offset of the folder's group in partition 0 of
their topic: for people who watch it, and to tell an older copy of the folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from math import inf
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from zlib import crc32

from triplecast.crash_points import reach
from triplecast.errors import InputError, PipelineFailed, StorageFault, TriplecastError
from triplecast.journal import Journal, read_clock, system_clock
from triplecast.kafka.connection import (
    PATIENCE,
    TRANSACTION_MS,
    Kafka,
    describe,
    describe_topic,
    error_of,
    import_client,
    make_consumer,
    make_producer,
    refuse_lasting,
)
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.printable import json_line
from triplecast.outbox import Cursor, Definitions, Outbox
from triplecast.syndication.rows import short_row

AT_ONCE, BYTES_AT_ONCE = 1_000, 4 << 20
"""Notifications, and bytes of them, after which a transaction is committed."""
LARGEST = 900_000
"""Bytes of a record: a little less than brokers take by default."""
SENT = "kafka sent "
"""With a topic, the setting that has a cursor up to which it holds all, its id, and the offsets from which it holds
more."""
NOTED_SECONDS = 60.0
KNOWN_IDS = 10_000_000
"""Most ids of a topic that are held in memory."""
_EVERY = {"isolation.level": "read_uncommitted"}
_AGAIN_SECONDS = 1.0
_LEFT_OPEN_SECONDS = 2.0
"""After which nobody is taken to end a transaction."""
_SECONDS = 10.0
"""For an answer while the run works, so that it ends soon after it is to."""


class OutgoingLine(NamedTuple):
    """A notification as JSON, and what of it decides where it goes."""

    sequence: int
    id: str
    registration: int
    publication: str
    text: str


class Relay:
    """One thread calls `look` again and again."""

    def __init__(self, kafka: Kafka, group: str, journal: Journal, report: Callable[[str], None]) -> None:
        """Raises InputError where no broker answers, there is no such topic, or access is refused."""
        assert kafka.notifications is not None
        self._kafka, self._topic, self._group = kafka, kafka.notifications, group
        self._journal, self._report = journal, report
        described = describe_topic(kafka, self._topic)
        self._id, self._partitions = described.id.decode() or "-", len(described.partitions)
        self._outbox = Outbox.read_only(Path(journal.where).parent)
        self._client = import_client()
        self._producer: Any = None
        self._consumer = make_consumer(kafka, group, lambda error: None)
        self._reached = 0
        self._lines: Iterator[OutgoingLine] | None = None
        """Those beyond that are not sent yet."""
        self._known: set[bytes] = set()
        """Digests of ids that the topic holds, of those up to a sequence."""
        self._known_upto = 0
        self._ends: dict[int, int] = {}
        """The offsets behind what was sent last, by partition."""
        self._noted_at = time.monotonic()
        self._failing = self._lost_broker = False
        self._began = inf
        """The time of the last transaction."""

    def close(self) -> None:
        """A transaction that is open is aborted by the next relay, or by its timeout."""
        with suppress(TriplecastError, self._client.KafkaException):  # as where another has the folder now
            if not self._lost_broker:
                self._note()
        self._consumer.close()
        self._outbox.close()

    def is_behind(self) -> bool:
        return self._producer is None or self._lost_broker or self._reached < self._outbox.state.sequence

    def look(self) -> bool:
        """Send what the outbox has, in one transaction at most, and return whether there was anything.

        Brokers that do not answer are reported once, and tried again. Raises PipelineFailed where another relay of the
        same folder, or of a copy, has taken over; StorageFault for an outbox older than what was sent.
        """
        try:
            if self._producer is not None:
                self._producer.poll(0)  # for its callbacks
            if self._producer is None or self._lost_broker:
                self._open()
            sent = self._send()
        except self._client.KafkaException as error:
            self._fail(error)
            time.sleep(_AGAIN_SECONDS)
            return False
        if self._failing:
            self._report(f"Kafka: notifications are sent to {self._topic} again")
            self._failing = False
        return sent

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        """Begin again with a new client: what was committed, Kafka knows."""
        self._producer = self._lines = None
        found = error_of(error)
        errors = self._client.KafkaError
        fences = errors._FENCED, errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH
        is_fenced = found is None or found.code() in fences
        timeout = int(self._kafka.settings.get("transaction.timeout.ms", TRANSACTION_MS)) / 1_000
        if is_fenced and time.time() - self._began < timeout:  # else brokers did it, while this process was stopped
            problem = f"another run of this folder, or of a copy, sends to {self._topic}: {describe(error)}"
            raise PipelineFailed(problem, "end one of them; a copy needs a group.id of its own") from error
        if found is not None and not found.fatal():
            refuse_lasting(found, self._topic)
        if not self._failing:
            self._report(f"Kafka: {describe(error)}; what is to be sent to {self._topic} waits for it")
        self._failing = True

    def _open(self) -> None:
        self._producer = self._lines = None
        producer = self._begin()
        with closing(make_consumer(self._kafka, self._group, lambda error: None, **_EVERY)) as every:
            ends = {p: self._end_of(p, every) for p in range(self._partitions)}
        if (left := self._find_open(ends, _LEFT_OPEN_SECONDS)) is not None:
            self._cover_open(producer, left)
            producer = self._begin()
            if self._find_open(ends, _SECONDS) is not None:
                raise self._timed_out("a transaction is open there")
            self._report(f"Kafka: a transaction of {self._topic} was left open: what was in it is sent again")
        self._reached = self._find_place(self._ask_place())
        self._forget()
        self._ends.clear()
        producer.poll(0)
        self._producer, self._lost_broker = producer, False
        self._note()

    def _begin(self) -> Any:
        """A producer, when the transaction of the one before has ended everywhere: aborted, unless it was committed."""
        producer = make_producer(self._kafka, f"{self._group}-{self._topic}", self._note_lost)
        producer.init_transactions(_SECONDS)
        return producer

    def _note_lost(self, error: Any) -> None:
        """Called by the client for a connection that it has lost."""
        self._lost_broker = True

    def _cover_open(self, producer: Any, left: list[int]) -> None:
        """Begin a transaction, to be aborted, in all partitions in which brokers have left one open."""
        producer.begin_transaction()
        for partition in left:
            producer.produce(self._topic, b"", b"", partition)
        self._send_place(producer, 0, "")
        if producer.flush(_SECONDS):
            raise self._timed_out(f"{self._topic} takes no records")

    def _find_open(self, ends: Mapping[int, int], seconds: float) -> list[int] | None:
        """Wait so long until all before the `ends` of partitions, and the group's place, has ended. Return the
        partitions in which it has not; None where all has."""
        until = time.monotonic() + seconds
        while left := [p for p, end in ends.items() if self._end_of(p) < end]:
            if time.monotonic() > until:
                return left
            time.sleep(0.1)
        with suppress(self._client.KafkaException):  # as while a transaction that has the place is open
            self._ask_place()
            return None
        return left

    def _end_of(self, partition: int, consumer: Any = None) -> int:
        """The offset before which all of a partition has ended, or that another consumer may read up to."""
        at = self._client.TopicPartition(self._topic, partition)
        return int((consumer or self._consumer).get_watermark_offsets(at, _SECONDS)[1])

    def _ask_place(self) -> Any:
        return self._consumer.committed([self._client.TopicPartition(self._topic, 0)], _SECONDS)[0]

    def _timed_out(self, text: str) -> Any:
        return self._client.KafkaException(self._client.KafkaError(self._client.KafkaError._TIMED_OUT, text))

    def _find_place(self, committed: Any) -> int:
        """The sequence after which notifications are sent that the topic is not `_known` to hold."""
        state = self._outbox.state
        told = Cursor.of(committed.metadata) if committed.offset >= 0 and ":" in (committed.metadata or "") else None
        sent = told.sequence if isinstance(told, Cursor) and told.epoch == state.epoch else 0
        if sent > state.sequence:
            raise StorageFault(
                str(Path(self._journal.where).parent),
                f"its outbox ends at notification {state.sequence}, but those up to {sent} were sent to "
                f"{self._topic}: it is an older copy",
                "restore the newest copy, or delete the offsets of its group in Kafka: then what the topic lacks "
                "is sent",
            )
        text, *of = self._journal.settings().get(SENT + self._topic, "0:0").split()
        noted = Cursor.of(text)
        assert isinstance(noted, Cursor)
        is_ours = noted.epoch == state.epoch and noted.sequence <= state.sequence
        since = [int(each) for each in of[1].split(",")] if is_ours and of[:1] == [self._id] else []
        starts, is_whole = {}, bool(since)
        for partition, at in enumerate([*since, *[0] * self._partitions][: self._partitions]):
            place = self._client.TopicPartition(self._topic, partition)
            low, high = self._consumer.get_watermark_offsets(place, _SECONDS)
            starts[partition] = max(low, min(at, high))
            is_whole = is_whole and low <= at
        self._known, self._known_upto = self._read_ids(starts), state.sequence
        reached = noted.sequence if is_ours else 0
        return reached if is_whole else max(reached, sent)  # some ids were deleted: then what Kafka was told counts

    def _read_ids(self, starts: Mapping[int, int]) -> set[bytes]:
        """Digests of the ids that partitions hold from an offset on."""
        found: set[bytes] = set()
        for message in self._read(starts):
            found.add(_digest(message.key() or b""))
            if len(found) > KNOWN_IDS:
                raise InputError(
                    f"it is not known how far {self._topic} has come, and it holds more than {KNOWN_IDS} ids",
                    "name another topic",
                )
        return found

    def _read(self, starts: Mapping[int, int]) -> Iterator[Any]:
        """The committed records of partitions, from an offset to the end."""
        consumer = self._consumer
        left, silent = dict(starts), time.monotonic()
        consumer.assign([self._client.TopicPartition(self._topic, p, at) for p, at in left.items()])
        while left:
            for message in consumer.consume(1_000, 0.2):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == self._client.KafkaError._PARTITION_EOF:
                    left.pop(message.partition(), None)
                else:
                    raise self._client.KafkaException(error)
                silent = time.monotonic()
            if time.monotonic() - silent > PATIENCE:
                raise self._timed_out(f"{self._topic} cannot be read to its end")
        consumer.unassign()

    def _send(self) -> bool:
        state = self._outbox.state
        if state.sequence <= self._reached:
            self._consumer.poll(0)  # for its callbacks
            if time.monotonic() - self._noted_at > NOTED_SECONDS:
                self._note()
            return False
        lines = self._next_lines()
        if not lines and state.pruned <= self._reached:
            return False
        reached = lines[-1].sequence if lines else state.pruned  # what was pruned is sent no more
        due = [each for each in self._live(lines) if _digest(each.id.encode()) not in self._known]
        producer, failed = self._producer, []

        def note_delivery(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            else:
                self._ends[message.partition()] = message.offset() + 1

        self._began = time.time()
        producer.begin_transaction()
        for line in due:
            self._produce(line, note_delivery)
        self._send_place(producer, reached, str(Cursor(state.epoch, reached)))
        reach("kafka.sending")
        producer.commit_transaction(_SECONDS)
        reach("kafka.sent")
        if failed:
            raise self._client.KafkaException(failed[0])
        self._reached = reached
        self._forget()
        if time.monotonic() - self._noted_at > NOTED_SECONDS:
            self._note()
        producer.poll(0)  # a broker that was lost meanwhile may have left the transaction open
        return True

    def _forget(self) -> None:
        if self._reached >= self._known_upto:
            self._known.clear()  # what comes from now on is new

    def _send_place(self, producer: Any, reached: int, cursor: str) -> None:
        """librdkafka may wait for ever for a group's coordinator that has gone (its issues 5456 and 5511). Then the
        producer is used no more: the next one of its name fences it."""
        at = [self._client.TopicPartition(self._topic, 0, reached, cursor)]
        group, outcome = self._consumer.consumer_group_metadata(), list[Exception | None]()

        def send() -> None:
            try:
                outcome.append(producer.send_offsets_to_transaction(at, group, _SECONDS))
            except self._client.KafkaException as error:
                outcome.append(error)

        thread = Thread(target=send, name="triplecast-kafka", daemon=True)
        thread.start()
        thread.join(1.5 * _SECONDS)
        if (error := outcome[0] if outcome else self._timed_out("the group's coordinator does not answer")) is not None:
            raise error

    def _produce(self, line: OutgoingLine, note_delivery: Callable[[Any, Any], None]) -> None:
        headers = [("content-type", b"application/json")]
        value = line.text.encode()
        most = int(self._kafka.settings.get("message.max.bytes", LARGEST)) - 1_000
        if len(value) > most:
            value = json_line(short_row(json.loads(line.text), len(value))).encode()
        place = crc32(f"{line.registration} {line.publication}".encode()) % self._partitions
        while True:
            try:
                self._producer.produce(
                    self._topic, value, line.id.encode(), place, on_delivery=note_delivery, headers=headers
                )
                return
            except BufferError:
                self._producer.poll(0.05)

    def _next_lines(self) -> list[OutgoingLine]:
        """The notifications of the next transaction; none where no more are there yet."""
        found: list[OutgoingLine] = []
        size = 0
        self._lines = self._lines or self._read_lines()
        for line in self._lines:
            found.append(line)
            size += len(line.text)
            if len(found) == AT_ONCE or size >= BYTES_AT_ONCE:
                return found
        self._lines = None
        return found

    def _read_lines(self) -> Iterator[OutgoingLine]:
        """The notifications beyond the place reached, as far as they are there."""
        operators = NO_OPERATORS.with_recorded(self._journal.operators())
        definitions = Definitions(self._journal.registrations, operators)
        for _, text in self._outbox.json_lines(self._reached, definitions=definitions):
            yield from map(_line, text.split("\n")[:-1])

    def _live(self, lines: list[OutgoingLine]) -> Iterator[OutgoingLine]:
        """Those whose registration is live: a cancel or the end of a lease withholds the others (semantics 9.8)."""
        over = self._journal.over({each.registration for each in lines}, read_clock(system_clock))
        return (each for each in lines if each.registration not in over)

    def _note(self) -> None:
        """Keep how far the topic has all, once what was sent has ended."""
        self._noted_at = time.monotonic()
        if self._producer is None or self._known or self._find_open(self._ends, 1.0) is not None:
            return
        cursor, now = Cursor(self._outbox.state.epoch, self._reached), map(self._end_of, range(self._partitions))
        self._journal.set_setting(SENT + self._topic, f"{cursor} {self._id} {','.join(map(str, now))}")


def _line(text: str) -> OutgoingLine:
    row = json.loads(text)
    return OutgoingLine(row["sequence"], row["id"], row["registration"], row["publication"], text)


def _digest(id: bytes) -> bytes:
    return blake2b(id, digest_size=16).digest()
