"""What a run costs, and the least that it can: core time of the process and its children, bytes, the disk's syncs."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

_TICK = os.sysconf("SC_CLK_TCK")
_SYNCS = 200
_LARGE = 16 << 20


def core_seconds() -> float:
    """Seconds that this process and its children, those that ended too, have had a core."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(core_seconds_of, descendants()))


def core_seconds_of(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICK


def descendants(process: int | None = None) -> Iterator[int]:
    """Living children of a process, by default of this one, and theirs."""
    left = [process or os.getpid()]
    while left:
        for task in Path(f"/proc/{left.pop()}/task").glob("*/children"):
            try:
                children = [*map(int, task.read_text("ascii").split())]
            except OSError:
                continue
            yield from children
            left += children


def run_on(cores: Iterable[int]) -> None:
    """Let this process, its threads and its children have no other cores."""
    allowed = set(cores)
    for process in (os.getpid(), *descendants()):
        for task in Path(f"/proc/{process}/task").iterdir():
            try:
                os.sched_setaffinity(int(task.name), allowed)
            except OSError:  # it has ended
                continue


def bytes_written() -> int:
    """Bytes that this process has caused to be written to disks."""
    lines = Path("/proc/self/io").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def sync_seconds(folder: Path) -> float:
    """Median seconds of appending a page to a file and syncing it."""
    seconds = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(_SYNCS):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file)
            seconds.append(time.perf_counter() - start)
    (folder / "sync").unlink()
    return statistics.median(seconds)


def synced_bytes_per_second(folder: Path) -> float:
    """Of one large write that is synced; median of three."""
    seconds, body = [], os.urandom(_LARGE)
    for _ in range(3):
        with (folder / "sync").open("wb", buffering=0) as file:
            start = time.perf_counter()
            file.write(body)
            os.fdatasync(file)
            seconds.append(time.perf_counter() - start)
        (folder / "sync").unlink()
    return len(body) / statistics.median(seconds)


def copied_bytes_per_second() -> float:
    """Of copying an array that no cache holds; median of five."""
    source = np.zeros(8 * _LARGE, np.uint8)
    target = np.empty_like(source)
    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        target[:] = source
        seconds.append(time.perf_counter() - start)
    return len(source) / statistics.median(seconds[1:])
