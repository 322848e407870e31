"""Read taxonomies from documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triplecast.errors import DocumentRejected
from triplecast.ingest.document import Document
from triplecast.ingest.document_files import read_documents
from triplecast.ingest.parser import Parser
from triplecast.model.publication import Reject
from triplecast.taxonomy import NO_TAXONOMY, Taxonomy, read_taxonomy


def parse_taxonomy(parser: Parser, documents: Sequence[Document | Reject], broader: bool = False) -> Taxonomy:
    """Return the taxonomy that all documents state together; `broader`: with ``skos:broader``.

    Raises `DocumentRejected` for the first document that cannot be read, and what `read_taxonomy` raises.
    """
    rejects = [each for each in documents if isinstance(each, Reject)]
    parsed = parser.parse([each for each in documents if isinstance(each, Document)])
    for reject in (*rejects, *(reject for result in parsed for reject in result.rejects)):
        reason = f"{reject.source}: {reject.reason}"
        raise DocumentRejected(reject.stage, reason, reject.hint, reject.line, reject.column)
    return read_taxonomy((draft.quads for result in parsed for draft in result.drafts), broader)


def read_taxonomy_files(paths: Sequence[Path], broader: bool = False) -> Taxonomy:
    """Return the taxonomy of the documents at `paths`. Raises InputError for a missing one, and what `parse_taxonomy`
    raises."""
    if not paths:
        return NO_TAXONOMY
    with Parser() as parser:
        return parse_taxonomy(parser, list(read_documents(paths)), broader)
