"""Find the files of an inbox, a folder that publishers put documents into, that are ready to be read.

A file is ready if its name neither starts with ``.`` nor ends in ``.tmp``, it is a regular file (no link, no pipe), its
extension is known, and its size and time have not changed for `QUIET` seconds between two scans. A file that was read
is read again only if its size or time differ from what the journal stored. Its source is its path relative to the
inbox, so that no path of this machine reaches the journal.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import InputError
from triplecast.ingest.media_types import EXTENSIONS, media_type_of
from triplecast.model.printable import decodable, printable_name
from triplecast.model.publication import FileState

QUIET = 1.0
"""Seconds for which size and modification time must stay the same before a file is read."""

LINES = ".jsonl"
"""Extension of files with many publications, ``{"id", "media_type", "data"}`` a line."""

KNOWN = (*EXTENSIONS, LINES)
"""The extensions, in any letter case, of the files that are read; all but the last may be followed by ``.gz``."""

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""Flags to open a folder that need not be listed (Linux)."""
_NAMED = 5
"""Most files that a message names."""


class Look(NamedTuple):
    """A file as a scan saw it, and since when it has been so (seconds of a monotonic clock)."""

    size: int
    mtime_ns: int
    since: float


class InboxFile(NamedTuple):
    """A file that is ready to be read."""

    source: str
    """Its path relative to the inbox, as `source_of` writes it."""
    path: tuple[str, ...]
    """The parts of that path as the operating system gave them."""
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of one scan of the whole inbox."""

    ready: tuple[InboxFile, ...]
    """Sorted by source."""
    looks: Mapping[str, Look]
    """New or changed files, to be given to the next scan."""
    waiting: int
    """How many of those are not ready yet."""
    ignored: tuple[str, ...]
    """What is never read, sorted: files with another extension, links, pipes, and, with a final ``/``, folders that
    cannot be listed."""


def scan_inbox(
    folder: Path, known: Mapping[str, FileState], looks: Mapping[str, Look], now: float, quiet: float = QUIET
) -> Scan:
    """Scan every file below `folder`; `looks` is the last scan's, `now` the time on the clock of `Look.since`.

    Raises InputError if the folder cannot be listed.
    """
    ready: list[InboxFile] = []
    ignored: list[str] = []
    seen: dict[str, Look] = {}
    for path, entry in _walk(folder):
        source = source_of(path)
        if entry is None:
            ignored.append(f"{source}/")
            continue
        if not is_known(entry.name) or not entry.is_file(follow_symlinks=False):
            ignored.append(source)
            continue
        try:
            state = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError:
            ignored.append(source)
            continue
        stamp = state.st_size, state.st_mtime_ns
        taken, last = known.get(source), looks.get(source)
        if taken is not None and (taken.size, taken.mtime_ns) == stamp:
            continue
        same = last is not None and (last.size, last.mtime_ns) == stamp
        seen[source] = last if last is not None and same else Look(*stamp, now)
        if now - seen[source].since >= quiet:
            ready.append(InboxFile(source, path, *stamp))
    ready.sort()
    return Scan(tuple(ready), seen, len(seen) - len(ready), tuple(sorted(ignored)))


def list_arrived(folder: Path, arrived: Iterable[tuple[str, ...]], known: Mapping[str, FileState]) -> list[InboxFile]:
    """List those of the files at paths below `folder` that are read, and differ from what is known of them, by source:
    they were renamed, so they are ready as they are."""
    ready = []
    for path in arrived:
        with contextlib.suppress(OSError):
            state = os.stat(os.path.join(folder, *path), follow_symlinks=False)
            taken, stamp = known.get(source_of(path)), (state.st_size, state.st_mtime_ns)
            if not stat.S_ISREG(state.st_mode) or not is_known(path[-1]):
                continue
            if taken is None or (taken.size, taken.mtime_ns) != stamp:
                ready.append(InboxFile(source_of(path), path, *stamp))
    return sorted(ready)


def is_known(name: str) -> bool:
    """Whether the extension of a file's name is that of a document."""
    return media_type_of(name) is not None or os.path.splitext(name)[1].lower() == LINES


def source_of(path: Sequence[str]) -> str:
    """Return a file's source: the parts of its path joined by ``/``. Bytes that are no UTF-8 are written ``\\xe9``, so
    that it can be stored and printed."""
    return decodable("/".join(path))


@contextlib.contextmanager
def open_below(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    """Open the file at `parts` below `folder` and give its descriptor. No part may be a link, and a pipe is not waited
    for. Raises OSError."""
    descriptors: list[int] = []
    try:
        descriptors.append(os.open(folder, _FOLDER))
        for name in parts[:-1]:
            descriptors.append(os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptors[-1]))
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptors.append(os.open(parts[-1], flags, dir_fd=descriptors[-1]))
        yield descriptors[-1]
    finally:
        for descriptor in reversed(descriptors):
            os.close(descriptor)


@contextlib.contextmanager
def open_inbox_file(folder: Path, file: InboxFile) -> Iterator[int | None]:
    """Open a file that `scan_inbox` found ready and give its descriptor; None if it is not the same file any more.

    No part of the path may be a link and the file must be regular, so a publisher can neither have another file of the
    machine read nor stall the reader with a pipe. Raises OSError for a file that may not be read.
    """
    with contextlib.ExitStack() as opened:
        try:
            descriptor = opened.enter_context(open_below(folder, file.path))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
                raise
            yield None
            return
        yield descriptor if is_unchanged(descriptor, file) else None


def is_unchanged(descriptor: int, file: InboxFile) -> bool:
    """Whether the open file is regular and has the size and time that the scan saw."""
    state = os.fstat(descriptor)
    return stat.S_ISREG(state.st_mode) and (state.st_size, state.st_mtime_ns) == (file.size, file.mtime_ns)


def read_inbox_file(folder: Path, file: InboxFile) -> bytes | None:
    """Return the content of a ready file; None if it changed before or meanwhile: a later scan finds it again."""
    with open_inbox_file(folder, file) as descriptor:
        if descriptor is None:
            return None
        content = bytearray()
        while len(content) <= file.size:
            piece = os.read(descriptor, file.size + 1 - len(content))
            if not piece:
                break
            content += piece
        if len(content) != file.size or not is_unchanged(descriptor, file):
            return None
        return bytes(content)


def _walk(folder: Path) -> Iterator[tuple[tuple[str, ...], os.DirEntry[str] | None]]:
    """Yield files and, without an entry, folders that cannot be listed."""
    pending: list[tuple[Path, tuple[str, ...]]] = [(folder, ())]
    while pending:
        here, above = pending.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name.endswith(".tmp"):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((here / entry.name, (*above, entry.name)))
                    else:
                        yield (*above, entry.name), entry
        except OSError as error:
            if not above:
                raise _unlistable(folder, error) from error
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                yield above, None


def _unlistable(folder: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"there is no inbox folder {folder}", "make it, or name another with --inbox")
    if isinstance(error, NotADirectoryError):
        return InputError(f"the inbox {folder} is no folder", "name a folder with --inbox")
    return InputError(f"the inbox {folder} cannot be read: {error.strerror}", "make it readable to this user")


def distinct_paths(paths: Sequence[Path]) -> list[Path]:
    """Return each file or folder once, as it was written first; a link to a file counts as a file of its own."""
    distinct: dict[str, Path] = {}
    for path in paths:
        real = os.path.realpath(path) if path.is_dir() else os.path.join(os.path.realpath(path.parent), path.name)
        distinct.setdefault(real, path)
    return list(distinct.values())


def describe_ignored(names: Sequence[str]) -> str:
    """Describe what is not read (`Scan.ignored`): how many files and folders, and a few of their names."""
    lines = []
    for kind, why, named in (
        ("file", " (an unknown extension, a link or a pipe)", [name for name in names if not name.endswith("/")]),
        ("folder", " that cannot be listed", [name for name in names if name.endswith("/")]),
    ):
        if named:
            what = f"a {kind}" if len(named) == 1 else f"{len(named)} {kind}s"
            lines.append(f"skipped {what}{why}: {list_names(named)}")
    return "\n".join(lines)


def list_names(names: Sequence[str]) -> str:
    """List a few of many names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(printable_name, names[:_NAMED])) + more
