"""Functions for a sandbox's child: well-behaved ones, and every way in which a parser can go wrong."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

import pyoxigraph


def echo(request: bytes) -> bytes:
    return request


def misbehave(request: bytes) -> bytes:
    """The request is the name of a function below (its fault), or anything else, which comes back reversed."""
    fault = FAULTS.get(request.split(b" ")[0])
    return fault(request) if fault else request[::-1]


def _abort(_: bytes) -> bytes:
    os.abort()


def _loop(_: bytes) -> bytes:
    while True:
        pass


def _sleep(_: bytes) -> bytes:
    time.sleep(3600)
    return b""


def _rest(request: bytes) -> bytes:
    time.sleep(float(request.split(b" ")[1]))
    return b"rested"


def _work(request: bytes) -> bytes:
    """For some seconds of CPU time."""
    end = time.process_time() + float(request.split(b" ")[1])
    while time.process_time() < end:
        pass
    return b"worked"


def _allocate(_: bytes) -> bytes:
    held = []
    while True:
        held.append(bytearray(1 << 22))


def _allocate_native(_: bytes) -> bytes:
    iri = "http://example.org/" + "x" * 200_000
    return pyoxigraph.serialize(
        pyoxigraph.parse(
            f"@prefix p: <{iri}> . {'p:a p:b p:c . ' * 5000}".encode(), format=pyoxigraph.RdfFormat.TURTLE
        ),
        format=pyoxigraph.RdfFormat.N_TRIPLES,
    )


def _recurse(request: bytes) -> bytes:
    return _recurse(request) + b"x"


def _huge(request: bytes) -> bytes:
    return b"x" * int(request.split(b" ")[1])


def _raise(_: bytes) -> bytes:
    raise ValueError("on purpose")


def _sys_exit(_: bytes) -> bytes:
    sys.exit(7)


def _os_exit(_: bytes) -> bytes:
    os._exit(7)


def _stop(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSTOP)
    return b"went on"


def _kill(_: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _close(_: bytes) -> bytes:
    os.closerange(0, 64)
    time.sleep(3600)
    return b""


def _print(_: bytes) -> bytes:
    print("noise on stdout" * 10_000, flush=True)
    os.write(1, b"A" + bytes(12))
    os.write(2, b"noise on stderr" * 10_000)
    return b"printed"


def _text(_: bytes) -> bytes:
    return "text"  # type: ignore[return-value]


def _open(_: bytes) -> bytes:
    with open(__file__, "rb") as file:
        return file.read(10)


def _connect(_: bytes) -> bytes:
    with socket.socket() as connection:
        return str(connection).encode()


def _fork(_: bytes) -> bytes:
    if os.fork() == 0:
        time.sleep(5)
        os._exit(0)
    os.abort()


def _fork_return(_: bytes) -> bytes:
    """Both processes come back, the forked one a little later."""
    if os.fork() == 0:
        time.sleep(0.05)
        sys.exit(0)
    return b"the parent's"


def _chatter(request: bytes) -> bytes:
    """As many answers of its own to request 1 as are asked for, on every pipe there is, before the answer."""
    frames = (b"A" + (1).to_bytes(4, "little") + (2).to_bytes(8, "little") + b"me") * int(request.split(b" ")[1])
    for pipe in range(3, 64):
        try:
            os.write(pipe, frames)
        except OSError:
            continue
    return b"answer"


def _mutter(_: bytes) -> bytes:
    """Without a pause, and without the alarm that would end it."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        os.write(2, b"still at it\n")


def _last_words(_: bytes) -> bytes:
    os.write(2, b"first\nthe disk is full\n")
    os._exit(9)


def _pid(_: bytes) -> bytes:
    return str(os.getpid()).encode()


def _environment(_: bytes) -> bytes:
    return "\n".join(sorted(os.environ)).encode()


FAULTS = {
    name.removeprefix("_").encode(): function
    for name, function in list(globals().items())
    if name.startswith("_") and not name.startswith("__") and callable(function)
}
