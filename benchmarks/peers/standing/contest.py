"""Who answers standing queries, side by side: started one after the other, given the same documents in turns."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure, Target
from benchmarks.peers.answers import Answer
from benchmarks.peers.cache import LeftOut, cache_folder
from benchmarks.peers.protocol import GaveUp, Peer, Round
from benchmarks.workloads.mdv import RuleBase

TRIPLECAST = "Triplecast"
RELATIONAL = "MDV's filter in SQLite"
OXIGRAPH = "pyoxigraph, what changed again"
DIFFERENTIAL = "differential-dataflow, on integers"
_MODULES = {
    TRIPLECAST: "benchmarks.peers.standing.triplecast_standing",
    RELATIONAL: "experiments.mdv.peer",
    OXIGRAPH: "benchmarks.peers.standing.oxigraph_standing",
}
_CRATE = Path(__file__).parent / "differential"


class Request(NamedTuple):
    """Documents that come, change or go, so many a call."""

    way: str
    """``registered``, ``updated`` or ``removed``."""
    numbers: range
    size: int

    @property
    def title(self) -> str:
        return f"{self.way}, {'one by one' if self.size == 1 else f'{self.size:,} a call'}"


@dataclass(frozen=True, slots=True)
class Limits:
    build: float
    """Seconds."""
    request: float


class AnswersDiffer(Exception):
    """Two engines told different changes of the same documents."""


def find_commands(names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """How each is started, and who is left out with the reason."""
    commands: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for name in names:
        try:
            commands[name] = _find_command(name)
        except LeftOut as reason:
            left_out[name] = str(reason)
    return commands, left_out


def _find_command(name: str) -> list[str]:
    return [str(build_differential())] if name == DIFFERENTIAL else [sys.executable, "-m", _MODULES[name]]


@cache
def build_differential() -> Path:
    """The program of `differential/`, built by Cargo in the cache. Raises LeftOut."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise LeftOut("Cargo is not installed")
    target = cache_folder("differential-dataflow-0.26.0")
    command = [cargo, "build", "--quiet", "--release", "--manifest-path", str(_CRATE / "Cargo.toml")]
    surroundings = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    finished = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    if finished.returncode:
        raise LeftOut("Cargo could not build it: no network, or too old a Rust")
    return target / "release" / "standing"


class StandingContest:
    """The engines of one rule base, which ``with`` ends."""

    def __init__(self, base: RuleBase, names: Sequence[str], limits: Limits) -> None:
        """Raises nothing for one that is absent or gives up: `left_out` says so."""
        self._place = tempfile.TemporaryDirectory(prefix="triplecast-bench-")
        folder = Path(self._place.name)
        self._base = base
        self._limits = limits
        self._peers: dict[str, Peer] = {}
        commands, self.left_out = find_commands(names)
        for name, started in commands.items():
            own = folder / str(len(self._peers))
            own.mkdir()
            command = [*started, json.dumps(asdict(base)), str(own)]
            try:
                self._peers[name] = Peer(name, command, folder, limits.build, {})
            except GaveUp as reason:
                self.left_out[name] = str(reason)

    def __enter__(self) -> StandingContest:
        return self

    def __exit__(self, *raised: object) -> None:
        for peer in self._peers.values():
            peer.close()
        self._place.cleanup()

    def tell_builds(self) -> Iterator[Figure]:
        for name, peer in self._peers.items():
            rate = self._base.rules / peer.greeting.seconds
            work = {"MB": peer.greeting.index / 1e6}
            yield Figure(f"{name}: rules taken", self._base.name, self._base.rules, rate, "rules/s", work=work)

    def ask(self, request: Request) -> dict[str, Round]:
        """What each took. Raises `AnswersDiffer`."""
        found: dict[str, Round] = {}
        answers: dict[Answer, str] = {}
        for name, peer in [*self._peers.items()]:
            first, count = request.numbers.start, len(request.numbers)
            try:
                found[name] = peer.match(first, count, f"{request.way} {request.size}", self._limits.request)
            except GaveUp as reason:
                self.left_out[name] = f"{request.title}: {reason}"
                del self._peers[name]
                continue
            answers.setdefault(found[name].answer, name)
        if len(answers) > 1:
            raise AnswersDiffer(f"{self._base.name}, {self._base.rules:,} rules, {request.title}: {answers}")
        return found

    def measure(self, turns: Sequence[Sequence[Request]], targets: dict[str, Target]) -> Iterator[Figure]:
        """A figure for each engine and place in a turn: the median rate over the turns. A target by the title of a
        request is Triplecast's."""
        found: dict[tuple[str, str], list[tuple[int, Round]]] = {}
        for turn in turns:
            for request in turn:
                for name, told in self.ask(request).items():
                    found.setdefault((request.title, name), []).append((len(request.numbers), told))
        for (title, name), rounds in found.items():
            rates = [count / told.seconds for count, told in rounds]
            documents, changed = sum(count for count, _ in rounds), sum(told.answer.matches for _, told in rounds)
            core, seconds = sum(told.core for _, told in rounds), sum(told.seconds for _, told in rounds)
            work = {"changed rows": changed / documents, "changed rows/s": changed / seconds}
            work |= {"per core second": documents / core} if core else {}
            target = targets.get(title) if name == TRIPLECAST else None
            spread = statistics.median(rates), "documents/s", min(rates), max(rates)
            yield Figure(f"{name}: {title}", self._base.name, self._base.rules, *spread, work, target)

    def tell_left_out(self) -> Iterator[Figure]:
        for name, reason in self.left_out.items():
            yield Figure(f"{name}: left out ({reason})", self._base.name, self._base.rules, 0.0, "documents/s")
