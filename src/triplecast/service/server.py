"""The server: one process, one folder, until it is told to end."""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from triplecast.delivery.opening import open_runner
from triplecast.delivery.sending import ways_of
from triplecast.delivery.target import WEBSUB
from triplecast.egress import Egress
from triplecast.engine import Engine
from triplecast.errors import InputError
from triplecast.registry.control import ControlServer
from triplecast.service.app import create_app
from triplecast.service.guard import LOG
from triplecast.service.handover import HandoverProtocol, StrangersSocket
from triplecast.service.settings import STREAMS, ServiceSettings
from triplecast.service.websub import open_hub, websub_way

if TYPE_CHECKING:
    from triplecast.pipeline.matching import EngineOnSpark

GRACE_SECONDS = 20
"""How long requests that are under way may take at the end."""
CONNECTIONS = 10_000
"""Beside those of streams, which have a bound of their own."""
FILES = CONNECTIONS + STREAMS + 2_000
"""Descriptors, where the system grants them: without one left nothing is accepted, nor delivered."""
BACKLOG = 2_048
UNSENT_BYTES = 16 << 10
"""Of a connection, in the kernel: of its own accord that keeps megabytes for each client that takes nothing."""
SWITCH_SECONDS = 0.001
"""Between threads that compute: of Python's 5 ms, each statement of who commits would wait for the event loop."""


def serve(
    folder: Path,
    host: str,
    port: int,
    settings: ServiceSettings,
    say: Callable[[str], None],
    spark: EngineOnSpark | None = None,
) -> None:
    """Serve a folder until SIGTERM or SIGINT, or until `spark`, where that matches, fails. Raises `InputError` where
    nothing can listen there, `FolderLocked`, `StorageFault` and `PipelineFailed`."""
    _allow_files()
    sys.setswitchinterval(SWITCH_SECONDS)
    with ExitStack() as opened:
        engine = opened.enter_context(Engine.open(folder, elsewhere=spark))
        listening = opened.enter_context(listen(host, port))
        control = ControlServer(folder.absolute(), engine.serving.answer_line)
        opened.callback(control.close)
        engine.serving.announce(str(control.address))
        _log_to_stderr()
        egress = Egress(settings.egress)
        ways = ways_of(egress.send, settings.mail, commands=True) | {WEBSUB: websub_way(engine, egress)}
        runner, targets = opened.enter_context(open_runner(folder, egress, ways))
        opened.callback(runner.stop)
        runner.start()
        hub = opened.enter_context(closing(open_hub(engine, egress, targets)))
        app = create_app(engine, settings, targets, hub)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
            limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=64 << 10,
            ws_max_size=settings.request_bytes,
            ws_per_message_deflate=False,
        )
        shown = f"[{host}]" if ":" in host else host
        say(f"serving {folder} at http://{shown}:{listening.getsockname()[1]}")
        if spark is not None:
            spark.start()
            opened.callback(spark.close)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends by one, and raises it again when it has ended
            signal.signal(number, lambda *_: None)
        ServiceServer(config, app, spark).run(sockets=[listening])


class ServiceServer(uvicorn.Server):
    """Its connections are given to streams; it ends these before it waits for requests that are under way. It ends
    where nothing is matched any more."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, spark: EngineOnSpark | None = None) -> None:
        config.http, config.ws = HandoverProtocol, StrangersSocket
        super().__init__(config)
        self._app, self._spark = app, spark

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.freeze()  # of what is there by now nothing goes, and each full collection would stop all for 0.1 s
        _notify_systemd(os.environ.get("NOTIFY_SOCKET", ""))

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or (self._spark is not None and self._spark.has_ended)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.service.finish_streams()
        await super().shutdown(sockets)


def _notify_systemd(address: str) -> None:
    """Say that the service is up, where systemd wants to know (sd_notify(3))."""
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, suppress(OSError):
            told.sendto(b"READY=1", address.replace("@", "\0", 1) if address[0] == "@" else address)


def _allow_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def listen(host: str, port: int) -> socket.socket:
    """Raises `InputError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"cannot listen at {host}: {error}", "name an address of this machine with --host") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)  # connections inherit it
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen at {host}:{port}: {error}", "choose another --port") from None
    return listening


def _log_to_stderr() -> None:
    """JSON lines of the requests, and what uvicorn finds wrong."""
    handler = logging.StreamHandler(sys.stderr)
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
