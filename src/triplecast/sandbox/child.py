"""The script of a sandbox's child: answer requests with one function, under limits.

It is run by its path, so that the package around it is not imported, with the arguments
`function seconds wall memory answer parent trusted modules…`; PYTHONPATH is the parent's `search_path`.

It first imports the modules and the function, then limits itself: memory is bounded, no core is dumped, and unless the
function is trusted neither Python nor native code can open a file or socket (a limit of no new descriptors). So a
function's module must import all that it needs at its own import.

A timer of the kernel ends it at its limit of CPU time.

It does not outlive its parent. An idle child reads the end of its requests; at work, an alarm ends it a second after
its limit; on Linux the kernel ends it together with the thread that started it, if that is the main thread (the end
of another thread does not mean that the parent has ended).
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

Function = Callable[[bytes], bytes]

SCRIPT = "triplecast_script"
"""The name in a child of its parent's module ``__main__`` (repeated in `operators.declaration`)."""
INSIDE = "TRIPLECAST_CHILD"
"""An environment variable that only children have, which must start none (repeated in `sandbox.process`)."""
_HEADER_SIZE = 13
_NUMBER = slice(1, 5)
"""The request number in a header (`sandbox.messages`)."""
_BEFORE_REQUESTS = bytes(4)
"""The number of a message written before the first request."""
_GRACE = 1.0
"""Seconds beyond the time limit after which the child ends itself, should its parent not have done so."""
_LONGEST = 2_000
"""Characters of an exception's text that are kept."""
_JOINED = 1 << 16
"""Payloads up to this many bytes are written together with their header."""


def _header(kind: bytes, number: bytes, length: int) -> bytes:
    return kind + number + length.to_bytes(8, "little")


def take_pipes() -> tuple[BinaryIO, int]:
    """Return the pipes to the parent under new descriptors; 0 and 1 become the null device, so that prints are lost."""
    requests = os.fdopen(os.dup(0), "rb", buffering=1 << 18)
    answers = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return requests, answers


def die_with(parent: int) -> None:
    """Ask the kernel (Linux) for SIGKILL when `parent` ends. Zero asks nothing: the starting thread may end first."""
    if sys.platform == "linux" and parent:
        import ctypes

        pr_set_pdeathsig, sigkill = 1, 9
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, sigkill, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(3)


def limit_resources(memory: int, trusted: bool) -> None:
    """Limit memory beyond the present use, forbid cores and, unless `trusted`, new file descriptors, where the system
    has such limits."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm", "rb") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    if trusted:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def load(module: str) -> None:
    """Import a module by name, or a script by path under the name `SCRIPT`, so that its ``if __name__ == "__main__"``
    block does not run."""
    if not module.endswith(".py"):
        importlib.import_module(module)
        return
    spec = importlib.util.spec_from_file_location(SCRIPT, module)
    if spec is None or spec.loader is None:
        raise ImportError(f"{module} cannot be imported")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[SCRIPT] = loaded
    spec.loader.exec_module(loaded)


def describe(error: BaseException) -> bytes:
    """Return an exception's type, text and notes."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return (f"{type(error).__name__}: {error}"[: _LONGEST - len(notes)] + notes).encode("utf-8", "replace")


def call(function: Function, request: bytes, longest: int) -> tuple[bytes, bytes]:
    """Return kind and payload of the answer. Only here is any exception an answer."""
    try:
        answer = function(request)
        if type(answer) is not bytes:
            return b"E", f"the function returned {type(answer).__name__}, not bytes".encode()
    except MemoryError:
        return b"M", b"MemoryError"
    except BaseException as error:
        return b"E", describe(error)
    if len(answer) > longest:
        return b"S", f"the answer has {len(answer)} bytes, {longest} are allowed".encode()
    return b"A", answer


def write(pipe: int, kind: bytes, payload: bytes, number: bytes = _BEFORE_REQUESTS) -> None:
    header = _header(kind, number, len(payload))
    if len(payload) <= _JOINED:
        header, payload = header + payload, b""
    for part in (header, payload):
        view = memoryview(part)
        while view:
            view = view[os.write(pipe, view) :]


def serve(function: Function, requests: BinaryIO, answers: int, cpu: float, wall: float, longest: int) -> None:
    """Answer requests in order until the pipe ends, each within `cpu` seconds of CPU time (0: any) and `wall` seconds.
    A request that does not fit into memory ends the child. A process that the function forked and that returns from it
    ends silently: the pipes are not its own."""
    own = os.getpid()
    while True:
        header = requests.read(_HEADER_SIZE)
        if len(header) < _HEADER_SIZE:
            return
        number, length = header[_NUMBER], int.from_bytes(header[_NUMBER.stop :], "little")
        try:
            request = requests.read(length)
        except MemoryError:
            write(answers, b"M", b"the request does not fit into memory", number)
            return
        if len(request) < length:
            return
        signal.setitimer(signal.ITIMER_REAL, wall + _GRACE)
        signal.setitimer(signal.ITIMER_PROF, cpu)
        kind, payload = call(function, request, longest)
        if os.getpid() != own:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del request
        write(answers, kind, payload, number)


def main(arguments: list[str]) -> int:
    name, seconds, wall, memory, longest, parent, trusted, *modules = arguments
    own = os.getpid()
    requests, answers = take_pipes()
    die_with(int(parent))
    os.environ[INSIDE] = name
    module, _, attribute = name.partition(":")
    try:
        for each in modules:
            load(each)
        function: Function = getattr(importlib.import_module(module), attribute)
    except BaseException as error:
        if os.getpid() == own:
            write(answers, b"E", describe(error))
        return 2
    if os.getpid() != own:
        return 0
    limit_resources(int(memory), trusted == "1")
    write(answers, b"R", b"")
    cpu = 0.0 if trusted == "1" else float(seconds)
    serve(function, requests, answers, cpu, float(wall), int(longest))
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    os._exit(status)
