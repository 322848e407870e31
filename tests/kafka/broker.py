"""A real Kafka broker (KRaft, one node, loopback only) from jars that Maven fetches into a cache outside the project.

Where there is no Maven, or the jars are not to be had, `fetch_jars` says so, and the tests are skipped for that reason.
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from triplecast.pipeline.java import find_java_home

POM = Path(__file__).parent / "broker.xml"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FLAGS = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
WAIT = 90.0
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
auto.create.topics.enable=false
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
log.initial.task.delay.ms=100
log.retention.check.interval.ms=300
message.max.bytes=20000000
"""


def fetch_jars(pom: Path = POM, name: str = "kafka-4.3.1", *settings: str) -> Path | str:
    """The folder of the broker's jars, or of those that another file names, or why there is none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triplecast" / name
    if (cache / "whole").exists():
        return cache
    maven = shutil.which("mvn")
    if maven is None:
        return f"Maven (mvn), which fetches the jars of {name}, is not installed"
    cache.mkdir(parents=True, exist_ok=True)
    command = [maven, "-B", "-q", "-f", str(pom), COPY, "-DincludeScope=runtime", f"-DoutputDirectory={cache}"]
    command += settings
    own = dict(os.environ)
    if shutil.which("java") is not None:
        own.pop("JAVA_HOME", None)  # it may be that of a Spark session of this process, a Java without what Maven needs
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=300, env=own)
    except subprocess.TimeoutExpired:
        return f"Maven did not fetch the jars of {name} in five minutes"
    if finished.returncode:
        return f"Maven could not fetch the jars of {name}: no network, or no registry that has them"
    (cache / "whole").touch()
    return cache


class Broker:
    """It keeps its address and its data over restarts."""

    def __init__(self, jars: Path, folder: Path) -> None:
        self._folder = folder
        self._java = str(find_java_home(os.environ) / "bin" / "java")
        self._path = f"{jars}/*"
        self.port, controller = _free_ports()
        self._config = folder / "server.properties"
        text = _PROPERTIES.format(port=self.port, controller=controller, data=folder / "data")
        self._config.write_text(text)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode().replace("-", "A")
        format = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._config)]
        subprocess.run([self._java, *FLAGS, "-cp", self._path, *format], check=True, capture_output=True)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        log = (self._folder / "broker.log").open("ab")
        command = [self._java, *FLAGS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", self._path]
        self._process = subprocess.Popen(
            [*command, "kafka.Kafka", str(self._config)], stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        log.close()
        until = time.monotonic() + WAIT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self._folder / "broker.log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def stop(self, sign: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(60)
            self._process = None

    def restart(self, sign: int = signal.SIGKILL) -> None:
        self.stop(sign)
        self.start()

    # ---- topics, through the public client ---------------------------------------------------------------------------

    def make_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(name, partitions, 1, config=dict(config or {}))
        _retry(lambda: self.admin.create_topics([topic])[name].result(30))

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name], operation_timeout=30)[name].result(30)

    @cached_property
    def admin(self) -> Any:
        """One client for all calls: what it was asked ends with it."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def producer(self, **more: object) -> Any:
        from confluent_kafka import Producer

        return Producer({"bootstrap.servers": self.address, "log_level": 0, "linger.ms": 1, **more})

    def send(
        self, topic: str, *records: tuple[str | None, bytes | None, Mapping[str, str]], partition: int = 0
    ) -> None:
        """Send records, each a key, a value and headers, and wait until they are there."""
        producer, failed = self.producer(**{"message.max.bytes": 20_000_000}), []
        for key, value, headers in records:
            fields = [(name, text.encode()) for name, text in headers.items()]
            producer.produce(
                topic, value, key, partition, on_delivery=lambda e, m: failed.append(e) if e else None, headers=fields
            )
            producer.poll(0)
        if producer.flush(60) or failed:
            raise RuntimeError(failed[:1])

    def committed(self, topic: str, group: str) -> int:
        """The offset of a group in partition 0 of a topic."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
        (found,) = self.admin.list_consumer_group_offsets([asked])[group].result(30).topic_partitions
        return int(found.offset)

    def read(self, topic: str, partitions: int = 1) -> list[Any]:
        """All committed records of a topic, by partition."""
        return sorted(self.each(topic, partitions), key=lambda message: (message.partition(), message.offset()))

    def each(self, topic: str, partitions: int = 1) -> Iterator[Any]:
        """The committed records of a topic, those of a partition in order."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        settings = {"bootstrap.servers": self.address, "group.id": "tests", "enable.auto.commit": False}
        settings |= {"isolation.level": "read_committed", "enable.partition.eof": True, "log_level": 0}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        left, until = set(range(partitions)), time.monotonic() + WAIT
        while left and time.monotonic() < until:
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    until = time.monotonic() + WAIT
                    yield message
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
        consumer.close()
        assert not left, "the topic could not be read to its end"


def _free_ports() -> list[int]:
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _retry(call: Any) -> None:
    """An open port is not yet a broker that makes topics."""
    until = time.monotonic() + WAIT
    while True:
        try:
            call()
            return
        except Exception:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
