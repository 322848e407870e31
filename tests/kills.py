"""Kill -9, or SIGSTOP and a successor, of a process that subscribes, renews, cancels, publishes, prunes and merges.

``python -m tests.kills N`` kills an engine's process N times, in turn at each crash point that an engine has and at
random moments; every seventh time it is stopped instead, a successor takes the folder over, works, and the stopped one
is continued. A process says what it will call before it calls, and what was answered after: so it is known here what
was acknowledged, and of one call it is not known whether it was made. `tests.lives.Ledger` says what must be there:
everything acknowledged, nothing cancelled, no id twice, each notification once; a process that was followed writes
nothing. ``--seed`` replays the choices, not the moments. A table of the deaths stands at the end.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import importlib
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from tests.flips import memory_folder
from tests.lives import BEGIN, VERBS, Call, Ledger, Life, ParserHere, check_engine, check_files
from triplecast import FolderLocked, crash_points, sqlite
from triplecast.journal import Journal
from triplecast.outbox import chunks

POINTS = tuple(
    point
    for point in crash_points.POINTS
    if point.partition(".")[0] in ("journal", "index", "outbox") and point != "outbox.some-wait"
)
"""Those that an engine reaches."""
RANDOM = "a random moment"
LIVES = 30
"""Deaths in one folder, until another is begun."""
LONGEST = 0.25
"""Seconds that a process may live until it is killed at a random moment."""
CALLS = 80
"""That a process makes at most: by then every point was reached."""
FENCED = 7
"""Exit code of a process that found that another has its folder."""
STOPPED_EACH = 7
SUCCESSOR_CALLS = 6
PATIENCE = 60.0
"""Seconds for what takes milliseconds on an idle machine."""


class Wrong(AssertionError):
    """What was found is not what was acknowledged."""


# ---- processes -------------------------------------------------------------------------------------------------------


class Process:
    """A fork of this process, which was warmed and has no engine open; what it says comes line by line."""

    def __init__(self, action: Callable[[Process], int], armed: str = "") -> None:
        heard, said = os.pipe()
        orders, ordered = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(heard)
                os.close(ordered)
                self._said, self._orders = said, orders
                os.environ["TRIPLECAST_CRASH"] = armed
                importlib.reload(crash_points)
                code = action(self)
            except BaseException:
                self.say({"failed": traceback.format_exc()})
            finally:
                os._exit(code)
        os.close(said)
        os.close(orders)
        self._heard, self._ordered = heard, ordered
        self._rest = b""
        self.ended: int | None = None
        """The status of `os.waitpid`."""

    def say(self, what: dict[str, object]) -> None:
        os.write(self._said, json.dumps(what).encode() + b"\n")

    def wait_for_order(self) -> None:
        os.read(self._orders, 1)

    def order(self) -> None:
        os.write(self._ordered, b"!")

    def hear(self, until: float) -> Iterator[dict[str, object]]:
        """What it says until it ends, is stopped or the clock says `until`."""
        while (left := until - time.monotonic()) > 0 and self.ended is None:
            ready, _, _ = select.select([self._heard], [], [], min(left, 0.02))
            if ready:
                chunk = os.read(self._heard, 1 << 16)
                if not chunk:
                    self.wait()
                *lines, self._rest = (self._rest + chunk).split(b"\n")
                yield from map(json.loads, lines)
            elif self.is_stopped():
                return

    def rest(self) -> Iterator[dict[str, object]]:
        """What it has said and nobody has heard, once it is stopped or has ended."""
        while select.select([self._heard], [], [], 0)[0] and (chunk := os.read(self._heard, 1 << 16)):
            self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        yield from map(json.loads, lines)

    def is_stopped(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def kill(self, how: signal.Signals) -> None:
        if self.ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, how)

    def stop(self) -> bool:
        """Whether it is stopped now; else it has ended."""
        self.kill(signal.SIGSTOP)
        if self.ended is None:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                return True
            self.ended = status
        return False

    def wait(self) -> int:
        if self.ended is None:
            _, self.ended = os.waitpid(self.pid, 0)
        return self.ended

    def close(self) -> None:
        self.kill(signal.SIGKILL)
        self.wait()
        os.close(self._heard)
        os.close(self._ordered)


def make_calls(process: Process, life: Life, ledger: Ledger, dice: random.Random, count: int) -> None:
    for _ in range(count):
        call = ledger.draw(dice)
        process.say({"call": call})
        held = ledger.live.get(call.names[0]) if call.names else None
        answer = life.make(call, held.ticket if held and dice.random() < 0.7 else None)
        process.say({"answer": answer})
        if json.loads(json.dumps(ledger.do(call))) != json.loads(json.dumps(answer)):
            raise Wrong(f"{call} was answered by {answer}")


def victim(folder: Path, ledger: Ledger, dice: random.Random) -> Callable[[Process], int]:
    """Calls until it is killed; one that was followed finds every call refused."""

    def action(process: Process) -> int:
        life = None
        try:
            life = Life(folder, ledger.at)
            make_calls(process, life, ledger, dice, CALLS)
        except FolderLocked as locked:
            process.say({"fenced": str(locked)})
        else:
            return 0
        if life is not None:
            try_everything(life, ledger)
            life.engine.close()
        return FENCED

    return action


def try_everything(life: Life, ledger: Ledger) -> None:
    """Every call is refused."""
    for verb in sorted({*VERBS} - {"renew", "cancel"}):
        call = ledger.publication(ledger.at, [0])._replace(verb=verb, names=(f"{verb}-late",), sequence=1)
        try:
            life.make(call)
        except FolderLocked:
            continue
        raise Wrong(f"{verb} was made by a process that another has followed")


def heir(folder: Path, ledger: Ledger, pending: Call | None, dice: random.Random) -> Callable[[Process], int]:
    """Opens what a killed or stopped process left, holds it to the ledger and says whether the pending call was made.

    Of a stopped one it takes the folder over, makes some calls and waits until that one has ended, for some more.
    """

    def action(process: Process) -> int:
        try:
            life = Life(folder, ledger.at if pending is None else pending.at, take_over=True)
        except FolderLocked as locked:
            process.say({"refused": str(locked)})
            return 0
        now, made = _resolve(folder, life, ledger, pending)
        process.say({"made": made})
        make_calls(process, life, now, dice, SUCCESSOR_CALLS)
        process.say({"ready": True})
        process.wait_for_order()
        make_calls(process, life, now, dice, SUCCESSOR_CALLS)
        check_engine(life.engine, now)
        life.engine.close()
        check_files(folder, now)
        return 0

    return action


def _resolve(folder: Path, life: Life, ledger: Ledger, pending: Call | None) -> tuple[Ledger, bool]:
    """The ledger without the pending call, or with it: the one that what is there agrees with."""
    without, found = copy.deepcopy(ledger), []
    without.end_leases(ledger.at if pending is None else pending.at)
    choices = [(without, False)]
    if pending is not None:
        made = copy.deepcopy(ledger)
        made.do(pending)
        choices.append((made, True))
    for choice, was_made in choices:
        try:
            check_engine(life.engine, choice)
            with Journal.read_only(folder) as journal:
                assert journal.head() == choice.head, f"{journal.head()} records instead of {choice.head}"
        except AssertionError as error:
            found.append(f"{'with' if was_made else 'without'} {pending}: {error}")
        else:
            return choice, was_made
    raise Wrong("\n".join(found))


# ---- the story of a folder -------------------------------------------------------------------------------------------


class Story:
    """A folder, its ledger, and the deaths in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = Ledger(at=BEGIN)
        self.pending: Call | None = None

    def kill(self, dice: random.Random, point: str | None) -> str | None:
        """One death at a point, or at a random moment, and what followed; None where the point was not reached."""
        process = Process(
            victim(self.folder, copy.deepcopy(self.ledger), dice), f"{point}:{_hit(dice, point)}" if point else ""
        )
        try:
            self._hear(process.hear(time.monotonic() + (PATIENCE if point else dice.uniform(0, LONGEST))))
            process.kill(signal.SIGKILL)
            killed = os.WIFSIGNALED(process.wait())
            self._hear(process.rest())
        finally:
            process.close()
        self._inherit(dice)
        return (point or RANDOM) if killed else None

    def stop(self, dice: random.Random, point: str | None) -> str | None:
        """As `kill`, but the process is stopped, and continued once a successor has the folder."""
        armed = f"{point}:{_hit(dice, point)}:stop" if point else ""
        process = Process(victim(self.folder, copy.deepcopy(self.ledger), dice), armed)
        try:
            self._hear(process.hear(time.monotonic() + (PATIENCE if point else dice.uniform(0, LONGEST))))
            stopped = process.stop()
            self._hear(process.rest())
            if not stopped:
                self._inherit(dice)
                return None
            followed = self._inherit(dice, process)
            if not followed:
                process.kill(signal.SIGKILL)
                process.wait()
                self._inherit(dice)
        finally:
            process.close()
        return f"stopped at {point or RANDOM}" if followed else "stopped in the middle of a write: refused by name"

    def _hear(self, said: Iterator[dict[str, object]]) -> None:
        for what in said:
            if "failed" in what:
                raise Wrong(what["failed"])
            if "call" in what:
                assert isinstance(what["call"], list)
                fields = [tuple(value) if isinstance(value, list) else value for value in what["call"]]
                self.pending = Call(*fields)
            if "answer" in what:
                assert self.pending is not None
                expected = json.loads(json.dumps(self.ledger.do(self.pending)))
                if expected != what["answer"]:
                    raise Wrong(f"{self.pending} was answered by {what['answer']} instead of {expected}")
                self.pending = None

    def _inherit(self, dice: random.Random, stopped: Process | None = None) -> bool:
        """A successor opens what is left; False where it was refused."""
        process = Process(heir(self.folder, copy.deepcopy(self.ledger), self.pending, random.Random(dice.random())))
        pending, made = self.pending, False
        try:
            for what in process.hear(time.monotonic() + PATIENCE):
                if "refused" in what:
                    assert stopped is not None, what
                    assert "in the middle of a write" in str(what["refused"]), what
                    return False
                if "made" in what:
                    made = bool(what["made"])
                    if made and pending is not None:
                        self.ledger.do(pending)
                    self.pending = None
                if "ready" in what:
                    if stopped is not None:
                        self._continue(stopped, pending if made else None)
                    process.order()
                self._hear(iter([what]))
            assert process.wait() == 0, f"the successor ended with {process.ended}"
            assert self.pending is None
        finally:
            process.close()
        return True

    def _continue(self, process: Process, made: Call | None) -> None:
        """Continues a process that was followed: it may acknowledge the call that it had made, and writes nothing."""
        before = _contents(self.folder)
        process.kill(signal.SIGCONT)
        said = [*process.hear(time.monotonic() + PATIENCE)]
        process.kill(signal.SIGKILL)
        status = process.wait()
        said += process.rest()
        assert os.WIFEXITED(status), f"ended with status {status}: {said}"
        assert os.WEXITSTATUS(status) == FENCED, f"ended with status {status}: {said}"
        answers = [what for what in said if "answer" in what]
        assert len(answers) <= (made is not None), f"{answers} after {made}"
        after = _contents(self.folder)
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        assert [name for name in changed if not name.endswith(".tmp") or name in after] == [], f"wrote {changed}"


def _hit(dice: random.Random, point: str) -> int:
    """Which of a life's passages of the point; prunes are rare."""
    return dice.randint(1, 2 if point == "outbox.pruned" else 9)


def _contents(folder: Path) -> dict[str, str]:
    """Of every file but SQLite's lock tables, in which readers note themselves."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def run(count: int, seed: int, place: Path, say: Callable[[str], None] = print) -> Counter[str]:
    """`count` deaths, at each point in turn and as often at a random moment; how often each was met."""
    deaths: Counter[str] = Counter()
    with (
        patch("triplecast.engine.engine.Parser", ParserHere),
        patch.object(sqlite, "PATIENCE", 300),
        patch.object(chunks, "MERGED", 2),
    ):
        _warm(place / "warm")
        dice = random.Random(seed)
        story = Story(place / "0")
        tries = 0
        while deaths.total() < count:
            tries += 1
            if tries % LIVES == 0:
                shutil.rmtree(story.folder)
                story = Story(place / str(tries))
                say(f"{deaths.total()} deaths")
            point = POINTS[tries // 2 % len(POINTS)] if tries % 2 else None
            death = (story.stop if tries % STOPPED_EACH == 0 else story.kill)(dice, point)
            if death is not None:
                deaths[death] += 1
            assert tries < 4 * count + 40, f"{deaths} after {tries} tries"
    return deaths


def _warm(folder: Path) -> None:
    """Compiles kernels and fills caches here, so that each fork has them."""
    ledger, dice = Ledger(), random.Random(0)
    life = Life(folder, ledger.at)
    for _ in range(3 * CALLS):
        call = ledger.draw(dice)
        life.make(call)
        ledger.do(call)
    check_engine(life.engine, ledger)
    life.engine.close()
    check_files(folder, ledger)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100, help="deaths")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="triplecast-kills-", dir=memory_folder()) as place:
        deaths = run(arguments.count, arguments.seed, Path(place), lambda text: print(text, flush=True))
    for death, times in sorted(deaths.items()):
        print(f"{death:50} {times:6,}")
    print(f"{deaths.total()} in {time.monotonic() - began:.0f} s: nothing lost, nothing back, no id twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
