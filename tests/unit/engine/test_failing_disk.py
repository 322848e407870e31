"""A disk that fails or is full, at each call and each file: the error says which of the two it is.

No earlier test saw that `open` took a failing disk for a full one: faults were simulated in Python, above SQLite, or by
a full disk alone. A generator over the calls of the operating system and the files that they are on sees it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.failing_calls import CALLS, fail_calls, next_descriptor
from triplecast.errors import StorageFault, StorageFull
from triplecast.journal import Journal
from triplecast.model.publication import Draft
from triplecast.outbox import Outbox

pytestmark = pytest.mark.skipif(not CALLS, reason="the numbers of this machine's system calls are not known")
FILES = 9
"""More than a journal and an outbox have open."""
SPACE = ("pwrite64", "ftruncate")
"""Calls that need space."""


def use(folder: Path) -> None:
    """Open both files and write to them, as an engine does."""
    with Journal.open(folder) as journal, Outbox.open(folder, journal.check_writer, epoch=journal.epoch):
        journal.accept([Draft("urn:d", b"<urn:a> <urn:b> <urn:c> .\n" * 400, b"d" * 32, "none")])


def outcome(use: Callable[[], None]) -> str:
    """What `use` raises in a forked child: a name, empty for nothing."""
    heard, said = os.pipe()
    if (child := os.fork()) == 0:
        name = ""
        try:
            use()
        except BaseException as error:
            name = type(error).__name__
        os.write(said, name.encode())
        os._exit(0)
    os.close(said)
    os.waitpid(child, 0)
    with os.fdopen(heard) as stream:
        return stream.read()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("made", [False, True])
def test_what_fails_on_each_file_is_told_as_what_it_is(tmp_path: Path, call: str, made: bool) -> None:
    found: dict[int, set[str]] = {errno.EIO: set(), errno.ENOSPC: set()}
    for error in found:
        for place in range(FILES):
            folder = tmp_path / f"{error}-{place}"
            if made:
                use(folder)

            def failing(error: int = error, place: int = place, folder: Path = folder) -> None:
                fail_calls(call, error, next_descriptor() + place)
                use(folder)

            found[error].add(outcome(failing))
    assert found[errno.EIO] <= {"", StorageFault.__name__}
    assert found[errno.ENOSPC] <= {"", StorageFault.__name__, StorageFull.__name__}
    assert call not in SPACE or StorageFull.__name__ in found[errno.ENOSPC]
