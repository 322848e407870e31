"""What every request passes first: the name that it calls the server, and the log and the figures of its answer."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from triplecast.service.problems import Problem
from triplecast.service.state import CALLBACKS, ServiceState

LOG = logging.getLogger("triplecast.service")
"""JSON, a line a request. Never a query string, a header or the value of a path: tickets, tokens and secret addresses
are in these."""
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


class Guard:
    """ASGI middleware.

    Refuses a ``Host`` that is none of the service's: a web page whose name was made to resolve to this machine (DNS
    rebinding) has its own there. Of a service without tokens it refuses what another site's page has a browser send.
    """

    def __init__(self, app: ASGIApp, state: ServiceState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._count(scope, status, time.perf_counter() - began)
            await send(message)

        try:
            problem = self._refusal(Headers(scope=scope), scope)
            app = self._app if problem is None else problem.response()
            await app(scope, receive, note)
        finally:
            if LOG.isEnabledFor(logging.INFO):
                LOG.info(json.dumps(_described(scope, status, time.perf_counter() - began)))

    def _refusal(self, headers: Headers, scope: Scope) -> Problem | None:
        hosts, tokens = self._state.settings.hosts, self._state.settings.tokens
        if not hosts or (scope["type"] == "http" and scope["path"].startswith(CALLBACKS)):
            return None  # whoever calls back has a secret address, which no page of another site can know
        if _name_of(headers.get("host", "")) not in hosts:
            return Problem(421, "this server has another name", mend=f"call it {', '.join(sorted(hosts))}")
        origin = headers.get("origin")
        if tokens is None and origin is not None and (scope["type"] == "websocket" or scope["method"] not in _SAFE):
            _, _, named = origin.partition("://")
            if _name_of(named) not in hosts:
                return Problem(403, "another site's page sent this", mend="send it from this machine, without Origin")
        return None

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        metrics, route = self._state.metrics, _route_of(scope)
        metrics.requests.labels(_method_of(scope), route, status).inc()
        metrics.seconds.labels(route).observe(seconds)
        if status == 429:
            metrics.refused.inc()


def _name_of(host: str) -> str:
    """A host without its port."""
    name = host.strip().lower()
    return name if name.endswith("]") else name.rpartition(":")[0] or name


def _route_of(scope: Scope) -> str:
    """The route's path with the names of its parameters, not their values; of a bare `Route`, its path."""
    bare = scope["path"] if "endpoint" in scope else "none"
    return getattr(scope.get("route"), "path", "") or bare


def _method_of(scope: Scope) -> str:
    method = scope.get("method", "WEBSOCKET")
    return method if method in (*_SAFE, "PUT", "POST", "DELETE", "PATCH", "WEBSOCKET") else "other"


def _described(scope: MutableMapping[str, Any], status: int, seconds: float) -> dict[str, object]:
    access = scope.get("state", {}).get("access")
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "method": _method_of(scope),
        "route": _route_of(scope),
        "status": status,
        "ms": round(1000 * seconds, 1),
        "owner": getattr(access, "owner", None),
    }
