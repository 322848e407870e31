"""A server of Spark Connect on this machine, and a session of it beside the classic one."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.pipeline.java import find_java_home
from triplecast.pipeline.session import SETTINGS, last_line, spark_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_PATIENCE = 120.0


@contextmanager
def connect_session(scratch: Path) -> Iterator[SparkSession]:
    """A session of a server that ends with it."""
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql.connect.session import SparkSession

    port = _free_port()
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.shuffle.partitions": "2",
    }
    command = [str(Path(_find_spark_home(), "bin", "spark-submit")), "--master", "local[2,4]", "--class", _SERVER]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    environment = {**os.environ, **spark_environment(find_java_home(os.environ), scratch)}
    log = scratch / "connect.log"
    with log.open("ab") as sink:
        server = subprocess.Popen(
            [*command, "spark-internal"],
            env=environment,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
    try:
        _wait(server, port, log)
        session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        try:
            yield session
        finally:
            session.stop()
    finally:
        server.terminate()
        server.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"Spark Connect's server did not start: {last_line(log)}")
