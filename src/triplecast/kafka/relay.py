"""The relay: what the outbox records goes to a topic, each notification in one committed transaction.

With the notifications of a transaction goes the sequence reached, as the offset of the folder's group in partition 0 of
their topic. So a relay that is killed anywhere goes on behind the last committed transaction, and a reader of committed
records sees each notification once. Where Kafka has forgotten the sequence, or the outbox was made anew, the ids that
the topic holds are read, and left out.

A relay that has lost a broker begins again: it aborts what restarts have left open, and sends what the topic lacks
(decision 33).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from zlib import crc32

from triplecast.crash_points import reach
from triplecast.errors import InputError, PipelineFailed, StorageFault, TriplecastError
from triplecast.journal import Journal, read_clock, system_clock
from triplecast.kafka.connection import (
    PATIENCE,
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
"""With a topic, the setting that has the cursor reached; Kafka forgets it days after the last run."""
NOTED_SECONDS = 60.0
KNOWN_IDS = 10_000_000
"""Most ids of a topic that are held in memory."""
_AGAIN_SECONDS = 1.0
_LEFT_OPEN_SECONDS = 2.0
"""After which nobody is taken to end a transaction."""
_LAST_RECORDS = 100
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
        self._partitions = len(describe_topic(kafka, self._topic).partitions)
        self._outbox = Outbox.read_only(Path(journal.where).parent)
        self._client = import_client()
        self._producer: Any = None
        self._consumer = make_consumer(kafka, group, lambda error: None)
        self._reached = 0
        self._lines: Iterator[OutgoingLine] | None = None
        """Those beyond that are not sent yet."""
        self._known: set[bytes] = set()
        """Digests of ids that the topic holds, where they may be sent again."""
        self._noted_at = time.monotonic()
        self._failing = self._lost_broker = False

    def close(self) -> None:
        """End without waiting: a transaction that is open is aborted by the next relay, or by its timeout."""
        with suppress(TriplecastError):  # another has the folder now
            self._note()
        self._consumer.close()
        self._outbox.close()

    def is_behind(self) -> bool:
        return self._producer is None or self._reached < self._outbox.state.sequence

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
        if found is None or found.code() in (errors._FENCED, errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH):
            problem = f"another run of this folder, or of a copy, sends to {self._topic}: {describe(error)}"
            raise PipelineFailed(problem, "end one of them; a copy needs a group.id of its own") from error
        if not found.fatal():
            refuse_lasting(found, self._topic)
        if not self._failing:
            self._report(f"Kafka: {found.str()}; what is to be sent to {self._topic} waits for it")
        self._failing = True

    def _open(self) -> None:
        self._producer = self._lines = None
        producer = self._begin()
        if (lost := self._cover_open(producer)) is not None:
            producer = self._begin()
            self._report(f"Kafka: a transaction of {self._topic} was left open: what was in it is sent again")
        committed = self._ask_place()
        told = Cursor.of(committed.metadata) if committed.offset >= 0 and ":" in (committed.metadata or "") else None
        self._reached = self._find_place(told if isinstance(told, Cursor) else None, lost)
        producer.poll(0)
        self._producer, self._lost_broker = producer, False

    def _begin(self) -> Any:
        """A producer, when the transaction of the one before has ended everywhere: aborted, unless it was committed."""
        producer = make_producer(self._kafka, f"{self._group}-{self._topic}", self._note_lost)
        producer.init_transactions(_SECONDS)
        return producer

    def _note_lost(self, error: Any) -> None:
        """Called by the client for a connection that it has lost."""
        self._lost_broker = True

    def _cover_open(self, producer: Any) -> int | None:
        """Begin a transaction, to be aborted, in all partitions in which brokers have left one open; return the
        sequence before its first notification. None where none is."""
        level = {"isolation.level": "read_uncommitted"}
        with closing(make_consumer(self._kafka, self._group, lambda error: None, **level)) as every:
            left, until = self._find_open(every), time.monotonic() + _LEFT_OPEN_SECONDS
            while left and time.monotonic() < until:
                time.sleep(0.1)
                left = dict(left.items() & self._find_open(every).items())
            if not left:
                with suppress(self._client.KafkaException):  # as while a transaction that has it is open
                    self._ask_place()
                    return None
            sequences = [each for each in map(_sequence_of, self._read(every, left)) if each]
        producer.begin_transaction()
        for partition in left:
            producer.produce(self._topic, b"", b"", partition)
        self._send_place(producer, 0, "")
        if producer.flush(_SECONDS):
            raise self._timed_out(f"{self._topic} takes no records")
        return min(sequences, default=self._outbox.state.sequence + 1) - 1

    def _find_open(self, every: Any) -> dict[int, int]:
        """The partitions in which a transaction is open, and the offset before which all have ended; `every` is a
        consumer of all records."""
        parts = {p: self._client.TopicPartition(self._topic, p) for p in range(self._partitions)}
        ended = {p: self._consumer.get_watermark_offsets(at, _SECONDS)[1] for p, at in parts.items()}
        return {p: at for p, at in ended.items() if at < every.get_watermark_offsets(parts[p], _SECONDS)[1]}

    def _ask_place(self) -> Any:
        return self._consumer.committed([self._client.TopicPartition(self._topic, 0)], _SECONDS)[0]

    def _timed_out(self, text: str) -> Any:
        return self._client.KafkaException(self._client.KafkaError(self._client.KafkaError._TIMED_OUT, text))

    def _find_place(self, told: Cursor | None, lost: int | None) -> int:
        """The sequence after which notifications are sent: what Kafka was told, or before it, what was lost."""
        self._known.clear()
        state = self._outbox.state
        if told is not None and told.epoch == state.epoch:
            if told.sequence > state.sequence:
                raise StorageFault(
                    str(Path(self._journal.where).parent),
                    f"its outbox ends at notification {state.sequence}, but those up to {told.sequence} were sent to "
                    f"{self._topic}: it is an older copy",
                    "restore the newest copy, or delete the offsets of its group in Kafka: then what the topic lacks "
                    "is sent",
                )
            last = map(_sequence_of, self._read_last(_LAST_RECORDS))
            if lost is not None or any(sequence > told.sequence for sequence in last):  # some of it was committed
                self._known = self._read_ids()
            return told.sequence if lost is None else min(told.sequence, lost)
        self._known = self._read_ids()
        if lost is not None or self._reached:
            return 0
        noted = Cursor.of(self._journal.settings().get(SENT + self._topic, "0:0"))
        assert isinstance(noted, Cursor)
        return noted.sequence if noted.epoch == state.epoch and noted.sequence <= state.sequence else 0

    def _read_ids(self) -> set[bytes]:
        """Digests of the ids that the topic holds."""
        found: set[bytes] = set()
        for message in self._read_last():
            found.add(_digest(message.key() or b""))
            if len(found) > KNOWN_IDS:
                raise InputError(
                    f"Kafka does not know how far {self._topic} has come, and it holds more than {KNOWN_IDS} ids",
                    f"name another topic, or set the offset of group {self._group} in its partition 0 to the last "
                    "sequence that it holds",
                )
        return found

    def _read_last(self, most: int | None = None) -> Iterator[Any]:
        """The committed records of the topic, of each partition those at so many last offsets."""
        starts = {}
        for partition in range(self._partitions):
            at = self._client.TopicPartition(self._topic, partition)
            low, high = self._consumer.get_watermark_offsets(at, PATIENCE)
            starts[partition] = low if most is None else max(low, high - most)
        return self._read(self._consumer, starts)

    def _read(self, consumer: Any, starts: Mapping[int, int]) -> Iterator[Any]:
        """The records of partitions, from an offset to the end."""
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
                raise InputError(f"the topic {self._topic} cannot be read to its end", "see whether its brokers run")
        consumer.unassign()

    def _send(self) -> bool:
        state = self._outbox.state
        if state.sequence <= self._reached:
            self._known.clear()  # what comes from now on is new
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
        if time.monotonic() - self._noted_at > NOTED_SECONDS:
            self._note()
        return True

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
        """Keep the place in the folder too, in case nobody runs it for so long that Kafka forgets it."""
        self._noted_at = time.monotonic()
        if self._producer is not None:
            self._journal.set_setting(SENT + self._topic, str(Cursor(self._outbox.state.epoch, self._reached)))


def _line(text: str) -> OutgoingLine:
    row = json.loads(text)
    return OutgoingLine(row["sequence"], row["id"], row["registration"], row["publication"], text)


def _sequence_of(message: Any) -> int:
    """A notification's; 0 for another's record, or one that was sent to abort it."""
    try:
        return int(json.loads(message.value())["sequence"])
    except (ValueError, LookupError, TypeError):
        return 0


def _digest(id: bytes) -> bytes:
    return blake2b(id, digest_size=16).digest()
