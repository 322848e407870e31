"""Where Kafka is, and its clients: what users may set of them, what is ours, and what their errors mean."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from triplecast.errors import InputError, PipelineFailed
from triplecast.model.extras import how_to_install

if TYPE_CHECKING:
    from triplecast.journal import Journal

GROUP = "kafka group"
"""The setting of a folder that has its consumer group, under which Kafka knows how far it has come."""

PATIENCE = 30.0
"""Seconds for an answer of the brokers, of which one may have restarted."""

TRANSACTION_MS = 60_000
"""After which brokers abort a transaction, unless users set another time."""

_OURS = frozenset(
    (
        *("bootstrap.servers", "metadata.broker.list", "transactional.id", "enable.idempotence", "isolation.level"),
        *("enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "enable.partition.eof"),
        "log.connection.close",
    )
)
"""Settings on which it depends that nothing is lost or repeated."""

_Answer = TypeVar("_Answer")
_MUTE = {"log_level": 0, "log.queue": True}
"""Errors come back from calls; what the client would print all the same stays in a queue."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """What a run has of Kafka."""

    brokers: str
    """``host:port``, or several with commas between."""
    publications: str | None = None
    """The topic that documents are read from."""
    notifications: str | None = None
    """The topic that notifications are sent to."""
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of librdkafka, for security above all."""

    def __post_init__(self) -> None:
        if self.publications is None and self.notifications is None:
            raise InputError("Kafka is named, and no topic", "add --publications TOPIC or --notifications TOPIC")
        if self.publications == self.notifications:
            raise InputError(f"both topics are {self.publications}", "notifications are no documents: name another")


class Topic(NamedTuple):
    """A topic as its brokers describe it."""

    id: bytes
    """Of this topic alone: one that is made anew under the same name has another. Empty where brokers give none."""
    partitions: tuple[int, ...]


def read_settings(file: Path) -> dict[str, str]:
    """Read ``name=value`` lines; those that begin with ``#`` are comments. Raises InputError."""
    settings = {}
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", "name a text file of name=value lines") from error
    for number, line in enumerate(lines, 1):
        name, equals, value = (each.strip() for each in line.partition("="))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name:
            raise InputError(f"{file}:{number} is no name=value", "write one setting of librdkafka a line")
        if name in _OURS:
            raise InputError(f"{file}:{number} sets {name}, which Triplecast sets itself", "leave this line out")
        settings[name] = value
    return settings


def settle_group(journal: Journal, kafka: Kafka) -> str:
    """Return the folder's consumer group: the one recorded, else the one set, else a new one, recorded from now on.

    Raises InputError where another is set than was recorded: under it nothing is known of how far the folder has come.
    """
    wanted = kafka.settings.get("group.id")
    group = journal.settings().get(GROUP)
    if group is None:
        group = wanted or f"triplecast-{secrets.token_hex(6)}"
        journal.set_setting(GROUP, group)
    if wanted not in (None, group):
        raise InputError(f"the consumer group of this folder is {group}, not {wanted}", "set group.id to that")
    return group


def make_consumer(kafka: Kafka, group: str, on_error: Callable[[Any], None], **more: object) -> Any:
    """A consumer that commits nothing by itself, reads what is committed, and says where a partition ends.

    Raises InputError for settings that librdkafka refuses."""
    settings = {
        "fetch.wait.max.ms": 100,
        "fetch.max.bytes": 16 << 20,
        "queued.max.messages.kbytes": 32 << 10,
        **kafka.settings,
        **_MUTE,
        "bootstrap.servers": kafka.brokers,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "error_cb": on_error,
    }
    return _client(import_client().Consumer, settings | more)


def make_producer(kafka: Kafka, name: str, on_error: Callable[[Any], None]) -> Any:
    """A producer of transactions; a later one of this name ends them. Raises InputError as `make_consumer` does."""
    settings = {
        "linger.ms": 5,
        "transaction.timeout.ms": TRANSACTION_MS,
        **{key: value for key, value in kafka.settings.items() if key != "group.id"},
        **_MUTE,
        "bootstrap.servers": kafka.brokers,
        "transactional.id": name,
        "log.connection.close": True,  # else `on_error` is not called for a lost one
        "error_cb": on_error,  # what it does not mend by itself, the next call raises
    }
    return _client(import_client().Producer, settings)


def _client(kind: Callable[[Mapping[str, object]], Any], settings: Mapping[str, object]) -> Any:
    confluent_kafka = import_client()
    try:
        return kind(settings)
    except (confluent_kafka.KafkaException, TypeError, ValueError) as error:
        raise InputError(f"a setting of Kafka is refused: {describe(error)}", "see --kafka-settings") from error


def import_client() -> Any:
    """Return confluent-kafka. Raises InputError where it is not installed."""
    try:
        import confluent_kafka
    except ImportError as error:
        raise InputError("confluent-kafka is not installed", how_to_install("kafka")) from error
    return confluent_kafka


def describe_topic(kafka: Kafka, name: str, seconds: float = PATIENCE) -> Topic:
    """Ask the brokers for a topic. Raises InputError where none answers in so many seconds, or there is no topic of
    this name."""
    confluent_kafka = import_client()
    from confluent_kafka.admin import AdminClient

    settings = {key: value for key, value in kafka.settings.items() if key != "group.id"}
    admin = _client(AdminClient, {**settings, **_MUTE, "bootstrap.servers": kafka.brokers})
    try:
        asked = admin.describe_topics(confluent_kafka.TopicCollection([name]), request_timeout=seconds)
        described = asked[name].result()
    except (confluent_kafka.KafkaException, TypeError, ValueError) as error:
        code = error_of(error)
        if code is not None and code.code() == confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise InputError(f"there is no topic {name} at {kafka.brokers}", "make it, or correct its name") from error
        raise InputError(f"Kafka at {kafka.brokers} does not answer: {describe(error)}", "see docs/kafka.md") from error
    id = str(described.topic_id)
    unknown = {"", "None", "AAAAAAAAAAAAAAAAAAAAAA"}
    return Topic(b"" if id in unknown else id.encode(), tuple(sorted(each.id for each in described.partitions)))


def insist(call: Callable[[float], _Answer], what: str, topic: str) -> _Answer:
    """Return what `call` does, which is given the seconds left; after a broker's restart some answers take a while.

    Raises InputError where `PATIENCE` did not help, and what `refuse_lasting` does."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call(max(0.1, until - time.monotonic()))
        except import_client().KafkaException as error:
            refuse_lasting(error.args[0], topic)
            if time.monotonic() > until:
                raise InputError(f"{what} of {topic}: {describe(error)}", "see whether its brokers run") from error
            time.sleep(0.2)


def error_of(error: BaseException) -> Any:
    """The `KafkaError` of an exception; None where it has none."""
    found = error.args[0] if error.args else None
    return found if hasattr(found, "retriable") else None


def describe(error: BaseException) -> str:
    found = error_of(error)
    return str(error) if found is None else str(found.str())


def refuse_lasting(error: Any, topic: str) -> None:
    """Raise what waiting does not mend: `InputError` where access is refused, `PipelineFailed` for a fatal error."""
    errors = import_client().KafkaError
    refused = (
        *(errors._AUTHENTICATION, errors.SASL_AUTHENTICATION_FAILED, errors.TOPIC_AUTHORIZATION_FAILED),
        *(errors.GROUP_AUTHORIZATION_FAILED, errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        errors.CLUSTER_AUTHORIZATION_FAILED,
    )
    if error.code() in refused:
        raise InputError(f"Kafka refuses access to {topic}: {error.str()}", "see docs/kafka.md for what is needed")
    if error.fatal():
        raise PipelineFailed(f"Kafka's client of {topic} ended: {error.str()}", "start again: nothing is lost")
