"""The folder of a run's results: one run at a time, replaced as a set, and what an unfinished run left told apart."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = "figures-unfinished.json"
"""What a run has measured so far; gone when its record stands."""
_WRITING = ".writing"
_OURS = re.compile(r"figures\.(md|json|png|svg)|figure-.+\.(png|svg)")


class CannotRun(Exception):
    """Nothing was measured, or not all; the message says what to do."""


class Results:
    """A folder that this process alone writes to, while `open_results` is entered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writing = folder / _WRITING
        """Where a whole set is written before `publish` gives its files their names."""

    def keep_unfinished(self, text: str) -> None:
        """Beside the earlier record, which stays."""
        path = self.writing / UNFINISHED
        _write(path, text)
        path.replace(self.folder / UNFINISHED)

    def write(self, name: str, text: str) -> None:
        _write(self.writing / name, text)

    def publish(self) -> list[Path]:
        """The set in `writing` takes the place of the earlier record: its files, synced before, get their names one
        after the other, ``figures.json`` last; then plots that only the earlier run had are removed.

        Whatever fails before (a full disk) leaves the earlier record as it was; a power cut among the renames leaves
        plots of this run beside an earlier ``figures.json``, with `UNFINISHED` to tell it.
        """
        names = sorted((each.name for each in self.writing.iterdir()), key=lambda name: (name.endswith("json"), name))
        for name in names:
            _sync(self.writing / name)
        placed = [(self.writing / name).replace(self.folder / name) for name in names]
        for each in sorted(self.folder.iterdir()):
            if _OURS.fullmatch(each.name) and each.name not in names:
                each.unlink()
        (self.folder / UNFINISHED).unlink(missing_ok=True)
        _sync(self.folder)
        return placed


@contextmanager
def open_results(folder: Path) -> Iterator[Results]:
    """Raises `CannotRun` where the folder cannot be written to, or another run writes to it: before anything is
    measured."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise CannotRun(f"{folder}: no folder for results ({error.strerror}): name another with --results") from error
    try:
        _lock(lock, folder)
        results = Results(folder)
        try:
            shutil.rmtree(results.writing, ignore_errors=True)  # a killed run's
            results.writing.mkdir()
        except OSError as error:
            raise CannotRun(f"{folder}: cannot be written to ({error.strerror}): fix it or name another") from error
        try:
            yield results
        finally:
            shutil.rmtree(results.writing, ignore_errors=True)
    finally:
        os.close(lock)


def _lock(descriptor: int, folder: Path) -> None:
    """On the folder itself: no file of the lock's is left among the results, and the kernel frees it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotRun(f"{folder}: another run writes its results here: wait for it, or name another folder") from None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
