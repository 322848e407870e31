"""`triplecast publish`: publish files into a folder, and print what matched."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.inputs import absolute_iri, add_cutting, check_publications, is_new_journal
from triplecast.cli.operators import add_operators, add_schedule, say_faults
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import (
    Exit,
    count_of,
    describe_match,
    describe_reject,
    describe_undecided,
    exit_of,
    print_json,
    print_text,
    say,
)
from triplecast.errors import FolderLocked, InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.engine import Engine, Match, Receipt
    from triplecast.ingest import Document
    from triplecast.model.publication import Reject


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "publish",
        help="publish files into a folder, and print what matched",
        description="Publish documents in DIR, which `triplecast subscribe` and Engine.open use too, and print a line "
        "per match. What was printed is on disk: `triplecast notifications DIR` lists it.",
    )
    parser.add_argument("folder", metavar="DIR", type=folder_or_url, help="the folder, which is made if it is missing")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="files and folders, or - (stdin)")
    parser.add_argument(
        "--graph", metavar="IRI", type=absolute_iri, help="name the document, whose next version is so recognised"
    )
    add_cutting(parser)
    add_operators(parser)
    add_schedule(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per match")
    add_service(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.ingest import Document
    from triplecast.ingest.document_files import read_documents
    from triplecast.offline import cut_batches

    is_remote = isinstance(arguments.folder, ServiceUrl)
    made = not is_remote and is_new_journal(arguments.folder)
    check_publications(arguments.files)
    documents = read_documents(arguments.files, arguments.dataset, split=arguments.split)
    if arguments.graph is not None:
        documents = iter([name_document(list(documents), arguments.graph)])
    documents = chain([*islice(documents, 1)], documents)  # wrong paths are refused before a folder is made
    said = _Said(arguments.json)
    if is_remote:
        from triplecast.cli.remote import publish

        for outcome in publish(arguments, documents):
            said.add_counts(*outcome) if isinstance(outcome, tuple) else said.add_reject(outcome)
        return said.end()
    instead = "it is a run: move the files into its inbox; or a server: name that, by --url"
    with open_engine(arguments.folder, arguments.schedule, instead) as engine:
        if made:
            say(f"{arguments.folder} held no journal: a new one is made there")
        say_faults()
        live = engine.statistics().live
        if not live.narrow + live.predicate + live.broad + live.repository:
            say(f"no subscription is live in {arguments.folder}: add one with `triplecast subscribe`")
        for batch in cut_batches(documents):
            for each in batch:
                if not isinstance(each, Document):
                    said.add_reject(each)
            published = [each for each in batch if isinstance(each, Document)]
            for document, receipt in zip(published, engine.publish_many(published), strict=True):
                said.add(receipt)
                for warning in receipt.warnings:
                    say(f"{printable_name(document.source)}: note: {warning}")
    return said.end()


def name_document(documents: list[Document | Reject], graph: str) -> Document | Reject:
    """The one document, under the IRI given."""
    from triplecast.ingest import Document

    if len(documents) != 1:
        raise InputError(f"--graph names one document, and there are {len(documents)}", "leave it out")
    (document,) = documents
    return replace(document, graph=graph) if isinstance(document, Document) else document


@contextmanager
def open_engine(folder: Path, schedule: str, instead: str) -> Iterator[Engine]:
    """The folder's engine. Raises `FolderLocked`; where a run or a server has it, with what to do `instead`."""
    from triplecast.engine import Engine
    from triplecast.journal import read_address

    try:
        engine = Engine.open(folder, schedule=schedule)
    except FolderLocked as fault:
        if read_address(folder) is not None:
            fault.hint = instead
        raise
    with engine:
        yield engine


class _Said:
    """Prints what became of documents, and counts it."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._counts = (0,) * 6
        self._rejects = 0

    def add(self, receipt: Receipt) -> None:
        for match in receipt.matches:
            print_match(match, self._json)
        for reject in receipt.rejects:
            self.add_reject(reject)
        for pair in (*receipt.undecided, *receipt.pending):
            say(describe_undecided(pair.publication, pair.subscription, pair.reason))
        accepted = sum(each.outcome == "accepted" for each in receipt.publications)
        unchanged, removed = len(receipt.publications) - accepted, len(receipt.removals)
        counts = len(receipt.matches), len(receipt.undecided), len(receipt.pending)
        self.add_counts(accepted, unchanged, removed, *counts)

    def add_counts(self, *counts: int) -> None:
        """Those of a document whose matches are printed elsewhere, in the order of `end`."""
        self._counts = tuple(map(add, self._counts, counts))

    def add_reject(self, reject: Reject) -> None:
        self._rejects += 1
        say(describe_reject(reject))

    def end(self) -> int:
        """Say the counts; return the exit code."""
        accepted, unchanged, removals, matches, undecided, pending = self._counts
        waiting = f", {pending} waiting for operators" if pending else ""
        removed = f"{removals} removed, " if removals else ""
        say(
            f"{count_of(accepted, 'publication')} accepted, {unchanged} unchanged, {removed}{self._rejects} rejected: "
            f"{count_of(matches, 'match', 'matches')}, {undecided} undecided{waiting}"
        )
        if self._rejects and not accepted + unchanged:
            return Exit.FAILED
        return exit_of(matches, self._rejects or undecided or pending)


def print_match(match: Match, as_json: bool) -> None:
    if as_json:
        row = {"publication": match.publication, "version": match.version, "subscription": match.subscription}
        print_json(row | {"change": match.change, "id": match.notification} | match.recorded.row())
    else:
        print_text(describe_match(match.publication, match.version, match.subscription, match.recorded.firsts()))
