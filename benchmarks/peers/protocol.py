"""How the benchmark talks to an engine: a process each, a line of JSON for each line said.

An engine is started with the folder of the workload. It builds its index, tells so in its `Greeting`, and then answers
each line ``first count way`` with what it found among so many publications and how long that took, the clock stopped
before anything is hashed. `java/Peer.java` speaks the same.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.costs import core_seconds
from benchmarks.peers.answers import Answer, hash_pairs


@dataclass(frozen=True, slots=True)
class Greeting:
    version: str
    subscriptions: int
    """Those it was given, or the first of them where it takes a sample."""
    seconds: float
    """To build, from the workload's numbers or texts to an index that matches."""
    index: int
    """Bytes that it added to heap and mapped files."""


@dataclass(frozen=True, slots=True)
class Round:
    seconds: float
    core: float
    """Seconds that the process had a core, all its threads and children together."""
    answer: Answer


class GaveUp(Exception):
    """An engine that did not build or answer in the time it had; its text says how far it came."""


class Engine(Protocol):
    greeting: Greeting

    def prepare(self, first: int, count: int) -> None:
        """Brings publications into the form that `match` takes; not timed."""

    def match(self, first: int, count: int, way: str) -> tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray]:
        """Publications and subscriptions of all pairs, side by side. `way` is empty where an engine has only one."""


def serve(engine: Engine) -> None:
    """Speaks for `engine` on standard input and output until there is no more input."""
    print(json.dumps(asdict(engine.greeting)), flush=True)
    for line in sys.stdin:
        start_at, length, way = line.rstrip("\n").split(" ", 2)
        first, count = int(start_at), int(length)
        engine.prepare(first, count)
        core, start = core_seconds(), time.perf_counter()
        found = engine.match(first, count, way)
        seconds, core = time.perf_counter() - start, core_seconds() - core
        publications, subscriptions = (np.asarray(column).tolist() for column in found)
        answer = hash_pairs(list(zip(publications, subscriptions, strict=True)))
        print(json.dumps({"seconds": seconds, "core": core, **asdict(answer)}), flush=True)


def give_up(reason: str) -> None:
    """Said by an engine instead of its greeting."""
    print(json.dumps({"gave_up": reason}), flush=True)


class Peer:
    """An engine's process. Whoever starts it closes it."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, seconds: float, surroundings: Mapping[str, str]
    ):
        """Waits for the greeting, `seconds` at most; raises GaveUp."""
        self.name = name
        self._errors = folder / f"{name}.stderr".replace(" ", "-").replace("/", "-")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **surroundings},
            )
        self._unread = b""
        try:
            told = self._read(seconds)
            if "gave_up" in told:
                raise GaveUp(str(told["gave_up"]))
        except GaveUp:
            self.close()
            raise
        self.greeting = Greeting(**told)
        self.resident = resident_bytes(self._process.pid)

    def match(self, first: int, count: int, way: str, seconds: float) -> Round:
        """Raises GaveUp when it takes longer than `seconds`; the process has ended then."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{first} {count} {way}\n".encode())
        self._process.stdin.flush()
        try:
            told = self._read(seconds)
        except GaveUp:
            self.close()
            raise
        return Round(told["seconds"], told["core"], Answer(told["matches"], told["digest"]))

    def _read(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        pipe, deadline = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise GaveUp(f"not done after {seconds:.0f} s")
            read = os.read(pipe, 1 << 16)
            if not read:
                last = self._errors.read_text("utf-8", "replace").strip().splitlines()[-3:]
                raise RuntimeError(f"{self.name}: its process ended: {' / '.join(last) or 'it said nothing'}")
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def resident_bytes(process: int) -> int:
    """What the operating system counts for it; 0 where it does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)
