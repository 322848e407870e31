"""Read the documents, taxonomies and schemas at paths that a user names, as those of an inbox, but once and at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from triplecast.errors import DocumentRejected, InputError
from triplecast.ingest.document import Document, cut_at
from triplecast.ingest.gate import GATE
from triplecast.ingest.inbox import KNOWN, InboxFile, distinct_paths, scan_inbox, source_of
from triplecast.ingest.inbox_files import is_whole, read_groups
from triplecast.ingest.parser import Parser
from triplecast.model.publication import Reject
from triplecast.schema import NO_SCHEMA, RdfSchema, read_schema
from triplecast.taxonomy import NO_TAXONOMY, Taxonomy, read_taxonomy

STDIN = Path("-")


def read_documents(
    paths: Sequence[Path], dataset: bool = False, inbox: Path | None = None, split: str | None = None
) -> Iterator[Document | Reject]:
    """Yield every document at `paths`, folders recursively, in the order of the paths and then of the names.

    A file is one document, a ``.jsonl`` file one a line. Its source is its path relative to the folder given; for a
    file given itself, its path in `inbox`, or its name. In a folder, links and files with another extension are
    skipped; a file given itself may be a link and have any extension. ``-`` is the document on standard input, whose
    content tells its format. At most one group (`inbox_files`) is held in
    memory. Raises InputError for a missing path and if nothing is found.
    """
    found = False
    for path in distinct_paths(paths):
        if path == STDIN:
            found = True
            yield Document("stdin", sys.stdin.buffer.read(GATE.bytes + 1), dataset=dataset, split=split)
            continue
        folder, files = _files(path, inbox)
        found = found or bool(files)
        unread = {file.source: file for file in files}
        for group in read_groups(folder, files, {}, dataset):
            yield from cut_at(group.documents, split)
            yield from group.rejects
            for source, state in group.sources.items():
                if is_whole(state):
                    unread.pop(source, None)
        for source in unread:
            yield Reject(source, "gate", "it changed while it was read", "try again once it is written")
    if not found:
        named = ", ".join(str(path) for path in paths)
        raise InputError(f"no publication in {named}", f"files are known by extension: {' '.join(KNOWN)}")


def check_path(path: Path) -> None:
    """Raises InputError unless there is a file or folder at `path`, or it is standard input."""
    if path == STDIN or path.is_file() or path.is_dir():
        return
    if path.parts[:1] in (("http:",), ("https:",)):
        raise InputError(f"{path} is an address, and nothing is fetched", "save it as a file first")
    what = "is neither a file nor a folder" if path.exists() else "does not exist"
    raise InputError(f"{path} {what}", "name a file or a folder of documents")


def _files(path: Path, inbox: Path | None) -> tuple[Path, Sequence[InboxFile]]:
    """Return the folder to open and the files in it."""
    check_path(path)
    if path.is_dir():
        return path, scan_inbox(path, {}, {}, 0.0, quiet=0.0).ready
    real = path.resolve()
    state = real.stat()
    if inbox is None:
        return real.parent, [InboxFile(source_of((path.name,)), (real.name,), state.st_size, state.st_mtime_ns)]
    if not real.is_relative_to(inbox.resolve()):
        raise InputError(f"{path} is not in {inbox}", "name the folder that holds it, or leave the folder out")
    parts = real.relative_to(inbox.resolve()).parts
    return inbox.resolve(), [InboxFile(source_of(parts), parts, state.st_size, state.st_mtime_ns)]


def parse_taxonomy(parser: Parser, documents: Sequence[Document | Reject], broader: bool = False) -> Taxonomy:
    """Return the taxonomy that all documents state together; `broader`: with ``skos:broader``.

    Raises `DocumentRejected` for the first document that cannot be read, and what `read_taxonomy` raises.
    """
    return read_taxonomy(_parse_all(parser, documents), broader)


def parse_schema(parser: Parser, documents: Sequence[Document | Reject]) -> RdfSchema:
    """Return the schema that all documents state together. Raises `DocumentRejected` for the first document that cannot
    be read, and what `read_schema` raises."""
    return read_schema(_parse_all(parser, documents))


def _parse_all(parser: Parser, documents: Sequence[Document | Reject]) -> Iterator[bytes]:
    rejects = [each for each in documents if isinstance(each, Reject)]
    parsed = parser.parse([each for each in documents if isinstance(each, Document)])
    for reject in (*rejects, *(reject for result in parsed for reject in result.rejects)):
        reason = f"{reject.source}: {reject.reason}"
        raise DocumentRejected(reject.stage, reason, reject.hint, reject.line, reject.column)
    return (draft.quads for result in parsed for draft in result.drafts)


def read_schema_files(paths: Sequence[Path]) -> RdfSchema:
    """Return the schema of the documents at `paths`. Raises InputError for a missing one, and what `parse_schema`
    raises."""
    if not paths:
        return NO_SCHEMA
    with Parser() as parser:
        return parse_schema(parser, list(read_documents(paths)))


def check_broader(paths: Sequence[Path], broader: bool) -> None:
    """Raises InputError where `broader` is said of no document."""
    if broader and not paths:
        raise InputError("skos:broader is read of a taxonomy, and none is given", "name its files with --taxonomy")


def read_taxonomy_files(paths: Sequence[Path], broader: bool = False) -> Taxonomy:
    """Return the taxonomy of the documents at `paths`. Raises InputError for a missing one, and what `check_broader`
    and `parse_taxonomy` raise."""
    check_broader(paths, broader)
    if not paths:
        return NO_TAXONOMY
    with Parser() as parser:
        return parse_taxonomy(parser, list(read_documents(paths)), broader)
