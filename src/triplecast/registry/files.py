"""Subscriptions as their owners keep them on disk: one query a file, or one a line of a ``.jsonl`` file.

A file subscription's id is its path relative to the folder that was named, with its extension, or the file's name
where the file itself was named; in ``.jsonl`` it is the line's ``id``. What cannot be read is a `SubscriptionFault`
that says where; what is beside it loads. Names that start with ``.`` or end in ``.tmp`` are somebody's unfinished
work and are left alone. In a folder a link is followed only to a file of that folder, so that nobody who may write
there has another file read and quoted; a file named itself may be a link. What cannot be looked at or read keeps
nothing else from being read.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import InputError
from triplecast.ingest.inbox import distinct_paths, list_names, open_below
from triplecast.model.printable import decodable, printable_name
from triplecast.model.subscription import Subscription
from triplecast.registry.lines import FileContent, LoadedSubscriptions, SubscriptionFault, not_utf8, read_lines

LANGUAGES: Mapping[str, str] = {".rq": "sparql", ".sparql": "sparql", ".rdql": "rdql", ".rule": "rule"}
"""The language that a file's extension says."""

LINES = ".jsonl"
STDIN = Path("-")
QUERY_BYTES = 4 << 20
"""Of a file with one query: no more can hold the characters that a query may have."""
LINES_BYTES = 256 << 20
"""Of a ``.jsonl`` file."""
_KNOWN = (*LANGUAGES, LINES)
_TAKEN = ", ".join(_KNOWN)
"""The extensions that messages name."""
_PIECE = 1 << 20


class SubscriptionFile(NamedTuple):
    """One file to read, as it was when it was found."""

    path: Path
    name: str
    """The id of the subscription in it, unless it has one a line."""
    size: int
    mtime_ns: int
    inode: int
    fault: SubscriptionFault | None = None
    """Why there is nothing to read: it is no regular file, cannot be looked at, or is a folder that cannot be listed;
    the name of a folder ends in ``/``."""
    folder: Path | None = None
    """The folder that was named and that it stays in; None for a file named itself."""

    @property
    def is_opaque(self) -> bool:
        """Whether it may hold ids that are unknown until it is read."""
        return self.path.suffix == LINES or self.name.endswith("/")


class FoundFiles(NamedTuple):
    """The files below some paths."""

    files: list[SubscriptionFile]
    """To be read, in the order of the paths, then of their names."""
    ignored: tuple[str, ...]
    """Files in the folders that are not read, since their extension is unknown: their paths below the folder that was
    named, in the same order."""


def load_subscriptions(paths: Sequence[Path]) -> LoadedSubscriptions:
    """Every subscription below `paths` (files, folders, and ``-`` for a query or lines on standard input).

    Raises InputError for a path that is missing, a folder without any subscription and a file of another kind.
    """
    found = find_subscription_files([path for path in paths if path != STDIN])
    contents = [read_subscription_file(file).loaded for file in found.files]
    if STDIN in paths:
        contents.append(_read_stdin().loaded)
    return replace(join_contents(contents), ignored=found.ignored)


def _read_stdin() -> FileContent:
    content = sys.stdin.buffer.read(LINES_BYTES)
    if content.lstrip().startswith(b"{"):  # as no query does
        return read_lines(content, "stdin", {})
    return _of_query(content, "stdin", "sparql", "stdin")


def find_subscription_files(paths: Sequence[Path]) -> FoundFiles:
    """A path that is given twice is taken once. Raises InputError as `load_subscriptions` does."""
    files: list[SubscriptionFile] = []
    ignored: list[str] = []
    for path in distinct_paths(paths):
        if path.is_dir():
            entries = list(_walk(path))
            others = [entry for entry in entries if isinstance(entry, str)]
            found = [entry for entry in entries if not isinstance(entry, str)]
            if not found:
                raise _empty_folder(path, others)
            files += found
            ignored += others
        elif not path.exists():
            raise InputError(f"there is no file or folder {path}", "name a subscription file or a folder of them")
        elif path.suffix not in _KNOWN:
            raise InputError(
                f"{path} is no subscription file: its extension is {path.suffix or 'missing'}",
                f"subscriptions are read from {_TAKEN} files",
            )
        elif not path.is_file():
            raise InputError(f"{path} is no regular file", "name a subscription file or a folder of them")
        else:
            files += _look_at(path, decodable(path.name))
    return FoundFiles(files, tuple(ignored))


def describe_unread(names: Sequence[str]) -> str:
    """A line about `FoundFiles.ignored`."""
    what = "a file" if len(names) == 1 else f"{len(names)} files"
    return f"passed over {what} among the subscriptions, which are read from {_TAKEN} files: {list_names(names)}"


def _empty_folder(path: Path, others: Sequence[str]) -> InputError:
    held = f", only files of other kinds: {list_names(others)}" if others else ""
    return InputError(
        f"the folder {path} holds no subscription{held}", f"subscriptions are read from {_TAKEN} files: name them so"
    )


def read_subscription_file(file: SubscriptionFile, before: FileContent | None = None) -> FileContent:
    """The file's content now; `before` is what it held when it was read last. A file that went away holds nothing."""
    place = printable_name(str(file.path))
    if file.fault is not None:
        return _unread(file.fault)
    try:
        content = _read_regular(file, place)
    except FileNotFoundError:
        return FileContent(LoadedSubscriptions((), (), ()))
    except OSError as error:
        return _unread(_not_readable(place, error))
    if isinstance(content, SubscriptionFault):
        return _unread(content)
    if file.path.suffix == LINES:
        return read_lines(content, place, before.lines if before is not None else {})
    return _of_query(content, file.name, LANGUAGES[file.path.suffix], place)


def _of_query(content: bytes, name: str, language: str, place: str) -> FileContent:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _unread(not_utf8(place, error))
    return FileContent(LoadedSubscriptions((Subscription(name, text, language),), (place,), ()))


def _read_regular(file: SubscriptionFile, place: str) -> bytes | SubscriptionFault:
    """Reads no more than a file may have, and never waits for a pipe's writer."""
    real = Path(os.path.realpath(file.path))
    folder = real.parent if file.folder is None else Path(os.path.realpath(file.folder))
    if not real.is_relative_to(folder):
        return _link_outside(place)
    limit = LINES_BYTES if file.path.suffix == LINES else QUERY_BYTES
    content = bytearray()
    with open_below(folder, real.relative_to(folder).parts) as descriptor:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return _not_regular(place)
        while max(state.st_size, len(content)) <= limit and (piece := os.read(descriptor, _PIECE)):
            content += piece
    if max(state.st_size, len(content)) > limit:
        return SubscriptionFault(
            place, f"it has more than {limit} bytes, the limit of a {file.path.suffix} file", "split it"
        )
    return bytes(content)


def _unread(fault: SubscriptionFault) -> FileContent:
    return FileContent(LoadedSubscriptions((), (), (fault,)))


def join_contents(contents: Sequence[LoadedSubscriptions]) -> LoadedSubscriptions:
    """Several files' subscriptions as one; of two with the same id the first counts, the second is a fault naming
    both places.
    """
    places: dict[str, str] = {}
    subscriptions: list[Subscription] = []
    faults = [fault for content in contents for fault in content.faults]
    for content in contents:
        for subscription, place in zip(content.subscriptions, content.places, strict=True):
            first = places.setdefault(subscription.name, place)
            if first is place:
                subscriptions.append(subscription)
            else:
                faults.append(
                    SubscriptionFault(
                        place,
                        f"the id {subscription.name!r} is given twice, here and at {first}",
                        "give one of them another id; the first one counts",
                    )
                )
    return LoadedSubscriptions(tuple(subscriptions), tuple(places.values()), tuple(faults))


def _walk(folder: Path) -> Iterator[SubscriptionFile | str]:
    """Files to read, and the names of those that are not; folder by folder, in the order of names."""
    try:
        pending = _listed(folder, "")
    except OSError as error:
        raise InputError(
            f"the folder {folder} cannot be read: {error.strerror}", "make it readable to this user"
        ) from error
    while pending:
        name, entry = pending.pop()
        if entry.is_dir(follow_symlinks=False):
            try:
                pending += _listed(entry.path, f"{name}/")
            except FileNotFoundError:
                continue
            except OSError as error:
                fault = _not_readable(printable_name(entry.path), error)
                yield SubscriptionFile(Path(entry.path), f"{decodable(name)}/", 0, 0, 0, fault)
        elif os.path.splitext(entry.name)[1] not in _KNOWN:
            yield decodable(name)
        else:
            yield from _look_at(Path(entry.path), decodable(name), folder)


def _listed(folder: str | Path, prefix: str) -> list[tuple[str, os.DirEntry[str]]]:
    """What is to be looked at in a folder, last name first."""
    with os.scandir(folder) as entries:
        shown = [entry for entry in entries if not entry.name.startswith(".") and not entry.name.endswith(".tmp")]
    return [(prefix + entry.name, entry) for entry in sorted(shown, key=lambda entry: entry.name, reverse=True)]


def _look_at(path: Path, name: str, folder: Path | None = None) -> list[SubscriptionFile]:
    """The file, maybe in a `folder` that was named; nothing if it has gone since it was listed."""
    place = printable_name(str(path))
    try:
        state = path.stat()
    except OSError as error:
        gone = error.errno == errno.ENOENT and not path.is_symlink()
        return [] if gone else [SubscriptionFile(path, name, 0, 0, 0, _not_readable(place, error))]
    fault = None if stat.S_ISREG(state.st_mode) else _not_regular(place)
    return [SubscriptionFile(path, name, state.st_size, state.st_mtime_ns, state.st_ino, fault, folder)]


def _not_readable(place: str, error: OSError) -> SubscriptionFault:
    if error.errno in (errno.ELOOP, errno.ENOENT):
        return SubscriptionFault(place, "is a link that leads to no file", "fix the link or remove it")
    hint = "nest folders less deep" if error.errno == errno.ENAMETOOLONG else "make it readable to this user"
    return SubscriptionFault(place, f"cannot be read: {error.strerror}", hint)


def _link_outside(place: str) -> SubscriptionFault:
    return SubscriptionFault(place, "is a link that leads out of the folder", "put the file itself there")


def _not_regular(place: str) -> SubscriptionFault:
    return SubscriptionFault(place, "is no regular file", "put a file there, or remove it")
