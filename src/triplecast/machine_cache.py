"""Folders of things that the processes of a machine make once and share."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes waiting, so that what is in a cache is made once. The kernel frees the lock of who is
    killed."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def drop_oldest(cache: Path, kept: int) -> None:
    """Leave the `kept` folders of a cache that were used last. Files that are mapped stay readable to who has them."""
    found = sorted((each for each in cache.iterdir() if each.is_dir()), key=lambda each: -each.stat().st_mtime)
    for each in found[kept:]:
        shutil.rmtree(each, ignore_errors=True)
