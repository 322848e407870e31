"""Compile kernels ahead, in parallel processes: ``python -m triplecast.kernels`` compiles all of them.

A *unit* is a kernel module that has a ``warm_up()``. The processes share out units by locks in the cache folder, so
that several programs that start at once compile each of them once. A program waits for the units in `FIRST` alone,
before its first answer; the rest is compiled at low priority meanwhile.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from triplecast.kernels.cache import CACHE_FOLDER
from triplecast.sandbox import search_path

FIRST = (
    "single",
    "join",
    "scan",
    "views",
    "rows",
    "render",
    "pairing",
    "programs",
    "build",
    "entries",
    "resolve",
    "hashing",
    "checksum",
)
"""Units that every match needs, the longest first."""

LATER = (
    "entailment",
    "ranking",
    "unfold",
    "containment",
    "directory",
    "wordbank",
    "chains",
    "undecided",
    "termbank",
    "triples",
    "livetriples",
    "timeline",
    "stored_views",
    "differing",
    "changed",
)
"""Units for entailment, full text, merges of the index, schedules of operators, the store, and standing answers."""

_COMMAND = (sys.executable, "-m", "triplecast.kernels")
_MOST_PROCESSES = 4
_BAR = 30

_compilers: list[subprocess.Popen[bytes]] = []
"""Of this process; they end with it, at the end of their stdin."""
_failed = False
_compiles_for_others = False


def is_compiled(units: Iterable[str] = (*FIRST, *LATER)) -> bool:
    return all(_mark(unit).exists() for unit in units)


def compile_kernels(
    tell: Callable[[str], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    units: tuple[str, ...] = FIRST,
) -> None:
    """Return once `units` are compiled, or early when `stopped`; without `tell`, write a line and, at a terminal, a
    progress bar on stderr.

    Where the processes fail, nothing is raised: who calls a kernel compiles it then and meets the fault itself.
    """
    global _failed
    if _failed or is_compiled(units):
        return
    report = _Report(tell, units)
    began = time.monotonic()
    compilers = _start(units)
    while not is_compiled(units):
        if stopped():
            _end(compilers)
            return
        if all(each.poll() is not None for each in compilers):
            _failed = not is_compiled(units)
            break
        report.show()
        time.sleep(0.05)
    if _failed:
        report.end(f"compiled kernels cannot be kept in {CACHE_FOLDER}; this process compiles them as it needs them")
    else:
        report.end(f"kernels compiled in {time.monotonic() - began:.0f} s")


def warm(units: Iterable[str] = (*FIRST, *LATER)) -> tuple[str, ...]:
    """Call every kernel of `units` once in this process: load it, or compile it."""
    for unit in units:
        importlib.import_module(f"triplecast.kernels.{unit}").warm_up()
    return tuple(units)


def before_compiling(module: str) -> None:
    """Compile what a kernel of `module` needs ahead, before this process would compile it alone and in silence."""
    if _compiles_for_others:
        return
    if module not in LATER:
        compile_kernels()
    else:
        compile_kernels(units=(module,))


class _Report:
    """What is said about a compile."""

    def __init__(self, tell: Callable[[str], None] | None, units: tuple[str, ...]) -> None:
        self._tell = tell or _to_stderr
        self._bar = tell is None and sys.stderr is not None and sys.stderr.isatty()
        later = set(LATER) - set(units)
        sources = Path(__file__).parent.glob("*.py")
        self._modules = {path.stem: _count_kernels(path) for path in sources if path.stem not in later}
        self._shown = -1
        if set(FIRST).isdisjoint(units):
            self._tell("compiling more kernels, once for this installation (some seconds) ...")
        else:
            self._tell("compiling kernels, once for this installation (up to a minute) ...")

    def show(self) -> None:
        if self._bar:
            found = Path(CACHE_FOLDER, "triplecast.kernels").glob("*.nbi")
            done = sum(path.name.partition(".")[0] in self._modules for path in found)
            total = max(1, done, sum(self._modules.values()))
            if done != self._shown:
                self._shown = done
                bar = "#" * (_BAR * done // total)
                print(f"\r\x1b[2K[{bar:{_BAR}}] {done} of {total}", end="", file=sys.stderr, flush=True)

    def end(self, text: str) -> None:
        if self._bar:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
        self._tell(text)


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def _count_kernels(path: Path) -> int:
    return len(re.findall(r"^@(?:njit|borrowing|inlined)$", path.read_text("utf-8"), re.MULTILINE))


def _mark(unit: str) -> Path:
    """The file that says, once it is there, that a unit is compiled."""
    return CACHE_FOLDER / f"{unit}.compiled"


def _start(units: Iterable[str]) -> list[subprocess.Popen[bytes]]:
    folder = str(CACHE_FOLDER.parent)
    environment = {**os.environ, "TRIPLECAST_CACHE": folder, "PYTHONPATH": os.pathsep.join(search_path())}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    started = []
    for _ in range(min(cores, _MOST_PROCESSES)):
        with suppress(OSError):
            compiler = subprocess.Popen(
                (*_COMMAND, *units),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
            started.append(compiler)
    _compilers.extend(started)
    return started


@atexit.register
def _end_all() -> None:
    _end(_compilers)


def _end(compilers: Iterable[subprocess.Popen[bytes]]) -> None:
    for each in compilers:
        each.kill()
        each.wait()
        if each.stdin is not None:
            each.stdin.close()


# ---- in a compiling process -----------------------------------------------------------------------------------------


def compile_for_others(units: tuple[str, ...]) -> None:
    """Compile `units` and then all others: those that nobody else is compiling, then what others left undone."""
    global _compiles_for_others
    from triplecast.kernels.machine_code import MachineCode

    _compiles_for_others = MachineCode.must_store = True
    gc.disable()  # a tenth of the time; the process is short
    threading.Thread(target=_end_with_parent, daemon=True).start()
    rest = tuple(unit for unit in (*FIRST, *LATER) if unit not in units)
    for wait in (False, True):
        for unit in units:
            _compile_unit(unit, wait)
    os.nice(10)
    for wait in (False, True):
        for unit in rest:
            _compile_unit(unit, wait)


def _compile_unit(unit: str, wait: bool) -> None:
    with _mark(unit).with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return
        if not _mark(unit).exists():
            warm((unit,))
            _mark(unit).touch()


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
