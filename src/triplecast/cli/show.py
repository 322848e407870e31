"""`triplecast show`: print what documents become."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.inputs import absolute_iri, add_cutting, check_publications
from triplecast.cli.terminal import Exit, count_of, describe_reject, print_json, print_text, say

if TYPE_CHECKING:
    from triplecast.model.publication import Draft

SHOWN = 3
"""Most publications named where the one that was wanted is not there."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "show",
        help="print what documents and feed items become",
        description="Parse documents and print each publication: its graph name and its triples. Report rejects and "
        "warnings on stderr.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="files and folders, or - (stdin)")
    parser.add_argument("--graph", metavar="IRI", type=absolute_iri, help="print only this publication")
    add_cutting(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per publication, with N-Quads")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.ingest import Parser
    from triplecast.ingest.document_files import read_documents
    from triplecast.offline import cut_batches, parse_batch

    shown = rejected = 0
    others: list[str] = []
    check_publications(arguments.files)
    with Parser() as parser:
        for batch in cut_batches(read_documents(arguments.files, arguments.dataset, split=arguments.split)):
            drafts, rejects, warnings = parse_batch(parser, batch)
            for draft in drafts:
                if arguments.graph in (None, draft.graph):
                    shown += 1
                    _print(draft, arguments.json)
                elif len(others) <= SHOWN:
                    others.append(draft.graph)
            for line in (*warnings, *map(describe_reject, rejects)):
                say(line)
            rejected += len(rejects)
    if others and not shown:
        more = " …" if others[SHOWN:] else ""
        say(f"no publication {arguments.graph} in these files; they have {', '.join(others[:SHOWN])}{more}")
    if rejected:
        return Exit.PARTLY if shown else Exit.FAILED
    return Exit.DONE if shown else Exit.NOTHING


def _print(draft: Draft, as_json: bool) -> None:
    triples = draft.quads.count(b"\n")
    if as_json:
        print_json({"publication": draft.graph, "triples": triples, "quads": draft.quads.decode()})
    else:
        print_text(f"# {draft.graph}  {count_of(triples, 'triple')}")
        print_text(_as_turtle(draft))


def _as_turtle(draft: Draft) -> str:
    """Return the content as Turtle, or TriG, with the prefixes that every query may use; subjects in order."""
    from pyoxigraph import RdfFormat, parse, serialize

    from triplecast.languages.vocabularies import KNOWN

    prefixes = {prefix: namespace for prefix, namespace in KNOWN.items() if f"<{namespace}".encode() in draft.quads}
    form = RdfFormat.TRIG if draft.dataset else RdfFormat.TURTLE
    text = serialize(parse(draft.quads, format=RdfFormat.N_QUADS), format=form, prefixes=prefixes) or b""
    lines = text.decode().split("\n")
    return "\n".join((*sorted(lines[: len(prefixes)]), *lines[len(prefixes) :]))
