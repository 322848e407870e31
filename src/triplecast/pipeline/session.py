"""The Spark session of a run: its JVM, its Python workers and its silence.

Everything that Spark's processes print goes to one log file; the command line stays clean. The JVM and its workers
live in a session of their own, so that Ctrl-C reaches Triplecast alone, which then ends them in order; when
Triplecast is killed the JVM sees its standard input end and goes, and its workers with it.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from triplecast.errors import InputError
from triplecast.model.extras import how_to_install
from triplecast.pipeline.java import find_java_home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1500m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.maxResultSize": "1g",
    "spark.rpc.message.maxSize": "1024",
    "spark.python.worker.reuse": "true",
    "spark.python.worker.faulthandler.enabled": "true",
}
"""What every session is started with; a task that loses its worker is tried again (`local_master`). The JVM only
passes bytes on, so that a second compiler costs it more than it gains: without, a start takes half the CPU time."""


_LONGEST_FOLDER = 60
"""Bytes of a folder in which Spark can make sockets, whose whole names have at most 107. Over a port of the loopback
device the start of a task waits some 40 ms for an acknowledgement."""
_CONNECTION = "connection"
_CONNECTION_VARIABLE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
"""Tells Spark's own launcher where to write port and secret."""


@contextmanager
def session(
    cores: int = 2,
    log: Path | None = None,
    settings: Mapping[str, str] | None = None,
    started: Callable[[subprocess.Popen[bytes]], None] = lambda jvm: None,
    master: str | None = None,
) -> Iterator[SparkSession]:
    """A Spark session on `cores` threads of this machine, or on the cluster of a `master`, its JVM ended at the end.

    Raises InputError when pyspark is not installed, no usable Java is found or the JVM does not start; `log`
    (default: a temporary file) takes what Spark prints. `started` is given the JVM as soon as there is one, seconds
    before the session: who kills it makes the start fail at once. One session at a time in one Python process.
    """
    _import_pyspark()
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    home = find_java_home(os.environ)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="triplecast-spark-")))
        (scratch / "log4j2.properties").write_text(_LOGGING)
        log = log or scratch / "spark.log"
        if master is None:
            environment, where = spark_environment(home, scratch), _on_this_machine(cores, scratch)
        else:
            environment, where = cluster_environment(home, scratch, master, os.environ), {"spark.master": master}
        stack.enter_context(variables(environment))
        chosen = {**SETTINGS, "spark.sql.warehouse.dir": f"{scratch}/warehouse", **where, **(settings or {})}
        configuration = SparkConf(loadDefaults=False).setAppName("triplecast").setAll([*chosen.items()])
        with log.open("ab") as sink:
            jvm = start_jvm(configuration.getAll(), scratch, sink)
        try:
            started(jvm)
            try:
                port, secret = read_connection(jvm, scratch)
            except EOFError as error:
                raise InputError(
                    f"Spark's JVM did not start with the Java in {home}: {last_line(log)}",
                    f"see {log}; `triplecast doctor` says what is missing",
                ) from error
            with variables({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
                gateway = launch_gateway(configuration)
            context = SparkContext(conf=configuration, gateway=gateway)
            # the next call reports a JVM that was killed; no stack on stderr as well
            context._accumulatorServer.handle_error = lambda request, address: None
            yield SparkSession(context)
        finally:
            end_session(jvm)


def _on_this_machine(cores: int, scratch: Path) -> dict[str, str]:
    settings = {
        "spark.master": local_master(cores),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
    }
    if len(os.fsencode(scratch)) <= _LONGEST_FOLDER:
        sockets = "spark.python.unix.domain.socket"
        settings |= {f"{sockets}.enabled": "true", f"{sockets}.dir": str(scratch)}
    return settings


def start_jvm(settings: Sequence[tuple[str, str]], scratch: Path, log: BinaryIO) -> subprocess.Popen[bytes]:
    """Spark's JVM, as `pyspark.java_gateway.launch_gateway` starts it, but in our hands from its first moment on. It
    writes where it listens to a file in `scratch`, and goes when its standard input ends.
    """
    from pyspark.find_spark_home import _find_spark_home

    command = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
    for name, value in settings:
        command += ["--conf", f"{name}={value}"]
    environment = {**os.environ, "SPARK_CONNECT_MODE": "0", _CONNECTION_VARIABLE: str(scratch / _CONNECTION)}
    return subprocess.Popen(
        [*command, "pyspark-shell"],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=environment,
        cwd=scratch,
        start_new_session=True,
    )


def read_connection(jvm: subprocess.Popen[bytes], scratch: Path) -> tuple[int, str]:
    """Port and secret of the JVM, as soon as it listens. Raises EOFError when it ends before."""
    told = scratch / _CONNECTION
    while not told.exists():
        if jvm.poll() is not None:
            raise EOFError
        time.sleep(0.05)
    content = told.read_bytes()
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()


def local_master(cores: int) -> str:
    """Spark's name for `cores` threads of this machine where a task may fail three times before its query does."""
    return f"local[{cores},4]"


def spark_environment(java_home: Path, scratch: Path) -> dict[str, str]:
    """The variables without which Spark picks another Python, another Java, a public address or somebody's settings.

    Without both ``PYSPARK_PYTHON`` and ``SPARK_LOCAL_IP``, Python sources were seen to time out.
    """
    return {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(scratch),
        "SPARK_LOCAL_DIRS": str(scratch),
    }


def cluster_environment(java_home: Path, scratch: Path, master: str, given: Mapping[str, str]) -> dict[str, str]:
    """The variables for a cluster: settings and Python may be the user's own, and only a master on this machine is
    spoken with over its loopback device."""
    wanted = {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": given.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONF_DIR": given.get("SPARK_CONF_DIR", str(scratch)),
    }
    host = master.removeprefix("spark://").rpartition(":")[0]
    return wanted | ({"SPARK_LOCAL_IP": "127.0.0.1"} if host in ("127.0.0.1", "localhost") else {})


@contextmanager
def variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """This process's environment with `wanted`, as it was again afterwards."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Stops Spark and its JVM, also a JVM that no longer answers; the process may start another session afterwards."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    alive = process.poll() is None
    running, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if alive and running is not None:
        with suppress(Py4JError, OSError):
            running.stop()
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def last_line(log: Path) -> str:
    """What a log says last, for an error message."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")


def _import_pyspark() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise InputError("pyspark is not installed", how_to_install("spark")) from error
