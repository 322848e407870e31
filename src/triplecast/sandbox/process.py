"""The parent's side of a child process: write requests while reading answers, so that neither side can block."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from triplecast.errors import SandboxFailed
from triplecast.sandbox.messages import (
    ANSWER,
    ERROR,
    HEADER,
    MEMORY,
    NUMBERS,
    READY,
    REQUEST,
    SIZE,
    BrokenMessage,
    MessageReader,
)

_END_SECONDS = 1.0
"""Grace for a child that closed its pipes to end by itself."""
_LONGEST_TURN = 3600.0
"""Seconds of one poll, which takes no more than 2^31 milliseconds."""
_LONGEST_LAST_WORD = 500
"""Characters kept of the last line on stderr of a child that ended by itself."""
_CHUNK = 1 << 20
_LONGEST_DETAIL = 1 << 14
_SCRIPT = Path(__file__).with_name("child.py")
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "SYSTEMROOT")
"""Environment variables that a child inherits, beside LC_*, LD_*, DYLD_* and PYTHON*: it gets no secrets."""
_INSIDE = "TRIPLECAST_CHILD"
_KINDS = {ERROR: "error", MEMORY: "memory", SIZE: "size"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may use. The others hold even on a system that cannot limit memory."""

    seconds: float
    """CPU time of the child from the moment it begins the request, so that a busy machine changes no answer; of
    `trusted` code, which may wait for others, wall time. A request that overruns is repeated once, alone, in a fresh
    child (`Sandbox.map`), so it may take twice this and the start of a child."""
    memory: int
    """Bytes of address space beyond what the child uses once its function is imported."""
    answer: int
    """Bytes of the answer."""
    trusted: bool = False
    """The function is the user's own code: it may open files and sockets and sees the whole environment."""
    start: float = 120.0
    """Seconds for the child to start and import what it needs."""
    patience: float = 20.0
    """How many times `seconds` the wall time may be, unless `trusted`: only a stopped child needs more."""

    @property
    def wall(self) -> float:
        return self.seconds if self.trusted else self.seconds * self.patience


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """A request without an answer."""

    kind: str
    """``timeout``, ``memory``, ``crash``, ``error`` (the function raised) or ``size`` (the answer is too long)."""
    detail: str


Answer = bytes | RequestFailure
Stopwatch = Callable[[], float]
Take = Callable[[bytes, int, bytes], None]
"""Takes kind, number and payload of a message."""


class ChildLost(Exception):
    """The child died, overran its time or broke the protocol; `failure` says which."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class Child:
    """A running child, ready for requests. Raises SandboxFailed if it does not start."""

    def __init__(
        self, function: str, limits: Limits, clock: Stopwatch = time.monotonic, modules: Sequence[str] = ()
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._stderr = b""
        self._sent = 0
        self._process = _start(function, limits, modules)
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        self._err = self._process.stderr.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._err, False)
        for pipe in (self._in, self._out):
            _widen(pipe)
        self._reader = MessageReader(max(limits.answer, _LONGEST_DETAIL))
        self._await_ready(function)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def quiet(self) -> bool:
        """Whether nothing unrequested has arrived, which would be taken for the next answer."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        return self._reader.between and not poll.poll(0)

    def ask(self, requests: Sequence[bytes], answered: Callable[[Answer], None]) -> None:
        """Send `requests` and call `answered` with each outcome, in order. Raises ChildLost at the request that the
        child did not survive; one for which it reported ``memory`` counts as such, since its state is unknown then."""
        first = self._sent + 1
        self._sent += len(requests)
        feed = _Feed(requests, first)
        done = 0
        self._stderr = b""

        def take(kind: bytes, number: int, payload: bytes) -> None:
            nonlocal done
            if kind == READY or done == len(requests):
                raise BrokenMessage(f"an extra answer, of kind {kind!r}")
            if number != (first + done) % NUMBERS:
                raise BrokenMessage(f"an answer to request {number} instead of {(first + done) % NUMBERS}")
            if kind == MEMORY:
                raise ChildLost(RequestFailure("memory", payload.decode("utf-8", "replace")))
            done += 1
            answered(payload if kind == ANSWER else RequestFailure(_KINDS[kind], payload.decode("utf-8", "replace")))

        self._converse(feed, take, lambda: done == len(requests), self._limits.wall)

    def kill(self) -> None:
        """Kill the child and all that it started. Idempotent."""
        if self._process.returncode is None:  # not reaped: its process id, which is its group's, is not reused yet
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()

    def _await_ready(self, function: str) -> None:
        ready = False

        def take(kind: bytes, number: int, payload: bytes) -> None:
            nonlocal ready
            if kind != READY:
                raise ChildLost(RequestFailure("error", payload.decode("utf-8", "replace")))
            ready = True

        try:
            self._converse(_Feed((), 0), take, lambda: ready, self._limits.start)
        except ChildLost as error:
            self.kill()
            raise SandboxFailed(function, error.failure.detail) from error
        except BaseException:
            self.kill()
            raise

    def _converse(self, feed: _Feed, take: Take, done: Callable[[], bool], seconds: float) -> None:
        """Write and read until `done`. The deadline runs from the last byte of a request or answer that moved, since
        the child begins the next request when its answer arrives. Output on stderr does not extend it."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        poll.register(self._err, select.POLLIN)
        if feed:
            poll.register(self._in, select.POLLOUT)
        deadline = self._clock() + seconds
        while not done():
            events = poll.poll(min(max(0.0, deadline - self._clock()), _LONGEST_TURN) * 1000)
            for pipe, _ in events:
                if pipe == self._err:
                    self._drain_stderr(poll)
                    continue
                if pipe == self._in:
                    self._write(feed, poll)
                else:
                    self._read(take)
                deadline = self._clock() + seconds
            if not done() and self._clock() >= deadline:
                raise ChildLost(_overrun(seconds))

    def _write(self, feed: _Feed, poll: select.poll) -> None:
        try:
            feed.advance(os.write(self._in, feed.chunk()))
        except BlockingIOError:
            return
        except BrokenPipeError:
            poll.unregister(self._in)  # its last answers are read first, then its end
            return
        if not feed:
            poll.unregister(self._in)

    def _read(self, take: Take) -> None:
        chunk = os.read(self._out, _CHUNK)
        if not chunk:
            raise ChildLost(self._how_it_ended())
        try:
            for frame in self._reader.feed(chunk):
                take(*frame)
        except BrokenMessage as error:
            raise ChildLost(RequestFailure("crash", f"the child broke the protocol: {error}")) from None

    def _drain_stderr(self, poll: select.poll | None) -> None:
        try:
            chunk = os.read(self._err, 1 << 16)
        except BlockingIOError:
            return
        if not chunk and poll:
            poll.unregister(self._err)
        self._stderr = (self._stderr + chunk)[-4096:]

    def _how_it_ended(self) -> RequestFailure:
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return RequestFailure("crash", "the child closed its pipes")
        self._drain_stderr(None)
        if status < 0:
            number = -status
            name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
            if number == signal.SIGALRM:  # its own alarm: this process noticed too late
                return _overrun(self._limits.wall)
            if number == signal.SIGPROF:
                return RequestFailure("timeout", f"no answer within {self._limits.seconds:g} s of CPU time")
            if b"memory allocation of" in self._stderr:  # what Rust's allocator prints before it aborts
                return RequestFailure("memory", "native code could not allocate memory")
            return RequestFailure("crash", f"the child was ended by signal {name}")
        last = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_LONGEST_LAST_WORD]
        return RequestFailure("crash", f"the child ended with status {status}" + (f": {last}" if last else ""))


def is_child() -> bool:
    """Whether this process is a sandbox's child, which starts no other."""
    return _INSIDE in os.environ


def _start(function: str, limits: Limits, modules: Sequence[str]) -> subprocess.Popen[bytes]:
    inside = os.environ.get(_INSIDE)
    if inside is not None:
        reason = f"this process is itself a sandbox's child ({inside}), which only imports operator modules"
        raise SandboxFailed(function, reason, 'put what a script does under `if __name__ == "__main__":`')
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT), function, *_arguments(limits), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=_environment(limits.trusted, modules),
            process_group=0,
        )
    except OSError as error:  # no process, memory or descriptor left, or no such interpreter
        raise SandboxFailed(function, str(error)) from error


def _overrun(seconds: float) -> RequestFailure:
    return RequestFailure("timeout", f"no answer within {seconds:g} s")


class _Feed:
    """The bytes still to be written: small messages are joined. False when all is written."""

    def __init__(self, requests: Sequence[bytes], first: int) -> None:
        """`first`: the number of the first request."""
        self._requests = requests
        self._first = first
        self._next = 0
        self._view = memoryview(b"")

    def __bool__(self) -> bool:
        return len(self._view) > 0 or self._next < len(self._requests)

    def chunk(self) -> memoryview:
        if not self._view:
            parts: list[bytes] = []
            size = 0
            while self._next < len(self._requests) and size < _CHUNK:
                request = self._requests[self._next]
                parts += (HEADER.pack(REQUEST, (self._first + self._next) % NUMBERS, len(request)), request)
                size += len(request) + HEADER.size
                self._next += 1
            self._view = memoryview(b"".join(parts))
        return self._view

    def advance(self, written: int) -> None:
        self._view = self._view[written:]


def _arguments(limits: Limits) -> list[str]:
    in_main_thread = threading.current_thread() is threading.main_thread()
    parent = os.getpid() if in_main_thread else 0
    numbers = (limits.seconds, limits.wall, limits.memory, limits.answer, parent, int(limits.trusted))
    return [str(number) for number in numbers]


def _environment(whole: bool, modules: Sequence[str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if whole or name in _ENVIRONMENT or name.startswith(("LC_", "LD_", "DYLD_", "PYTHON"))
    }
    return kept | {"PYTHONPATH": os.pathsep.join(search_path(modules))}


def search_path(modules: Iterable[str] = ()) -> tuple[str, ...]:
    """Return `sys.path` as absolute paths, in order; its empty entry (``python -c``, a prompt, a notebook, a script on
    stdin) is the current folder. The folders of those `modules` that are imported already follow, since this process
    may have changed its folder or path since."""
    found: dict[str, None] = {}
    for each in sys.path:
        if isinstance(each, str):  # Python skips others
            with contextlib.suppress(FileNotFoundError):  # a current folder that was deleted
                found[os.path.abspath(each)] = None
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file is not None:
            folder = Path(file).parent
            found[str(folder.parent if hasattr(top, "__path__") else folder)] = None
    return tuple(found)


def _widen(pipe: int) -> None:
    """Enlarge the pipe to 1 MB where the system allows it (Linux), for fewer turns per megabyte."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _CHUNK)
        except OSError:
            return
