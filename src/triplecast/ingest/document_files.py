"""Publications on disk: what stands at the paths that a user names, as `Document`s."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from triplecast.errors import InputError
from triplecast.ingest import Document, media_type_of
from triplecast.model.publication import Reject


def read_documents(paths: Sequence[Path]) -> Iterator[Document | Reject]:
    """Every document at `paths`, folders recursively, in the order of the paths and then of the names.

    A file gives one document named by its path relative to the path given (its own name when that is the file itself);
    a ``.jsonl`` file gives one a line. Files with another extension are passed over in a folder. Raises InputError for a missing path and when nothing at all is found.
    """
    found = False
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist", "name a file or a folder of publications")
        for file, name in _files(path):
            found = True
            yield from _documents_of(file, name)
    if not found:
        named = ", ".join(str(path) for path in paths)
        raise InputError(
            f"no publication in {named}",
            "files are known by extension: .ttl .nt .nq .trig .rdf .jsonld .rss .atom .xml .jsonl",
        )


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_file():
        yield path, path.name
        return
    for file in sorted(path.rglob("*")):
        relative = file.relative_to(path)
        hidden = any(part.startswith(".") for part in relative.parts) or file.name.endswith(".tmp")
        if file.is_file() and not hidden and (file.suffix == ".jsonl" or media_type_of(file.name) is not None):
            yield file, relative.as_posix()


def _documents_of(file: Path, name: str) -> Iterator[Document | Reject]:
    try:
        body = file.read_bytes()
    except OSError as error:
        yield Reject(name, "gate", f"cannot be read: {error.strerror}", "make it readable and try again")
        return
    if file.suffix != ".jsonl":
        yield Document(name, body, media_type_of(name))
        return
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            yield document_of_line(line, name, number)


def document_of_line(line: bytes, name: str, number: int) -> Document | Reject:
    """The document in line `number` of the ``.jsonl`` file `name`: ``{"id", "media_type", "data"}``, all text."""
    source = f"{name}:{number}"
    try:
        row = json.loads(line)
    except ValueError as error:
        return Reject(source, "gate", f"is not JSON: {error}", "write one object a line", number)
    wanted = ("id", "media_type", "data")
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in wanted):
        return Reject(
            source, "gate", 'lacks "id", "media_type" or "data" as text', "give all three in each line", number
        )
    return Document(source, row["data"].encode(), row["media_type"], row["id"])
