"""A service that listens at a port of this machine, on a thread of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.server import ServiceServer, listen
from triplecast.service.settings import ServiceSettings


@contextmanager
def served(engine: Engine, port: int = 0, **settings: object) -> Iterator[str]:
    """Yield its address. Streams that are open as it ends are ended."""
    with listen("127.0.0.1", port) as listening:
        app = create_app(engine, ServiceSettings(**settings))  # type: ignore[arg-type]
        server = ServiceServer(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=5), app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        until = time.monotonic() + 30
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
