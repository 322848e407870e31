"""Runs on a standalone cluster of the installed package, of which an executor and a worker are killed."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bucket import Bucket
from tests.spark.workplace import Workplace, document

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 240.0

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class Cluster(NamedTuple):
    master: str
    folder: Path

    def worker(self, number: int) -> int:
        return int((self.folder / f"worker-{number}.pid").read_text())

    def executors(self) -> list[int]:
        workers, found = {self.worker(1), self.worker(2)}, []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                command, status = (place / "cmdline").read_bytes(), (place / "stat").read_text()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and int(status.rpartition(")")[2].split()[1]) in workers:
                found.append(int(place.name))
        return sorted(found)


@contextmanager
def standalone(tmp_path: Path, hidden: Sequence[Path] = ()) -> Iterator[Cluster]:
    """A master and two workers. Folders that are `hidden` are empty for them, as on another machine."""
    pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path / "cluster"
    own = {name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"}  # a session of this process
    environment = own | {"PYTHON": sys.executable, "PORT": str(port), "FOLDER": str(folder)}
    command = [str(ROOT / "deploy" / "spark-standalone.sh"), "here", "2"]
    if hidden:
        mounts = " && ".join(f"mount -t tmpfs hidden {shlex.quote(str(each))}" for each in hidden)
        command = ["unshare", "--mount", "sh", "-c", f"{mounts} && exec {shlex.join(command)}"]
    with (tmp_path / "cluster.log").open("wb") as log:
        started = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        registered = folder / "master.log"
        wait_until(lambda: registered.exists() and registered.read_text().count("Registering worker") >= 2)
        yield Cluster(f"spark://127.0.0.1:{port}", folder)
    finally:
        started.terminate()
        started.wait(60)


def wait_until(done: Callable[[], bool], seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "nothing came of it"
        time.sleep(0.1)


def test_machines_that_share_nothing_but_a_store_tell_the_same(tmp_path: Path, bucket: Bucket) -> None:
    """Inbox and snapshots at addresses; workers see neither the run's folder nor the files."""
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        pytest.skip("only root can hide folders from the workers")
    place = Workplace(tmp_path)
    place.output.mkdir()
    place.fill(60)
    for file in place.inbox.iterdir():
        bucket.put(f"inbox/{file.name}", file.read_bytes())

    def write(number: int) -> None:
        place.write(f"d{number}.ttl", document(number))
        bucket.put(f"inbox/d{number}.ttl", document(number).encode())

    with standalone(tmp_path, (place.output, place.inbox, place.subscriptions)) as cluster:
        inbox = ["--inbox", bucket.address("inbox"), "--master", cluster.master]
        run_and_kill(place, cluster, [*inbox, "--snapshots", bucket.address("snapshots")], write)
    left = [each.key for each in bucket.bucket.objects.filter(Prefix="snapshots")]
    assert any("/index/segment-" in name for name in left), left


def run_and_kill(place: Workplace, cluster: Cluster, options: list[str], write: Callable[[int], None]) -> None:
    """A run that an executor and a worker are killed of tells what one engine tells."""
    command = [sys.executable, "-m", "triplecast.cli", "run", *options]
    command += ["--subscriptions", str(place.subscriptions), "--output", str(place.output)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    kills = {"executor": lambda: cluster.executors()[0], "worker": lambda: cluster.worker(1)}

    def is_told() -> bool:
        return running.poll() is not None or len(place.outbox()) == wanted

    try:
        for wave, kind in enumerate(("executor", "worker"), 1):
            wanted = len(place.told_without_spark())
            wait_until(is_told)
            for number in range(wave * 1_000, wave * 1_000 + 300):
                write(number)
            time.sleep(1.5)  # they are being matched
            os.kill(kills[kind](), signal.SIGKILL)
        wanted = len(place.told_without_spark())
        wait_until(is_told)
    finally:
        running.terminate()
        said, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert place.told() == place.told_without_spark(), said
