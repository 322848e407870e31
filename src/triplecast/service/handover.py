"""Uvicorn's connections, which are not waited for without end, which a long answer may take over, and on which a
stranger may say little."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakMethod

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

HEAD_SECONDS = 20.0
"""For the head of a request to come."""
STALL_SECONDS = 30.0
"""How long a client may take nothing of what was sent to it; then its connection ends."""
HAND_OVER = "triplecast.hand_over"
"""In the state of a request's scope: a weak reference to `HandoverProtocol.hand_over`."""
TRUST = "triplecast.trust"
"""In that of a WebSocket's: one to `StrangersSocket.trust`."""
STRANGERS_BYTES = 16 << 10
"""Of one message of a client that has shown no token yet, where one is needed."""


class HandoverProtocol(H11Protocol):
    """Of one connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, HAND_OVER: WeakMethod(self.hand_over)}, _loop)
        self._head: asyncio.TimerHandle | None = None

    def hand_over(self, protocol: asyncio.Protocol) -> asyncio.Transport:
        """Have `protocol` go on with the connection, on which the head of an answer was sent. For uvicorn the client
        has gone: nothing of the request is kept, and its task may end."""
        transport = self.transport
        self.connection_lost(ConnectionAbortedError("another protocol has the connection"))
        transport.set_protocol(protocol)
        transport.resume_reading()
        return transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._end_stalled(0)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._end_stalled(0)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._end_stalled(0)

    def _await_head(self) -> None:
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(HEAD_SECONDS, self._end)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _end(self) -> None:
        self.transport.close()
        self._end_stalled(0)

    def _end_stalled(self, left: int) -> None:
        """Look again and again at a connection on which something is left to be sent."""
        size = self.transport.get_write_buffer_size()
        if size and size == left:
            self.transport.abort()
        elif size:
            self.loop.call_later(STALL_SECONDS, self._end_stalled, size)


class StrangersSocket(WebSocketsSansIOProtocol):
    """A WebSocket whose messages are short until its client is known."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, TRUST: WeakMethod(self.trust)}, _loop)
        self.conn.max_message_size = STRANGERS_BYTES

    def send_receive_event_to_app(self) -> None:
        """Text that is no UTF-8 ends the connection (RFC 6455, 8.1), without uvicorn's traceback."""
        try:
            if self.curr_msg_data_type == "text":
                b"".join(self.frames).decode()
        except UnicodeDecodeError:
            self.conn.send_close(1007)
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def trust(self) -> None:
        """Take messages of any length that the service takes."""
        self.conn.max_message_size = self.config.ws_max_size
