"""`triplecast query`: evaluate a query over the current documents of a folder."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from triplecast.cli.inputs import has_journal
from triplecast.cli.terminal import Exit, print_json, print_text, table
from triplecast.errors import InputError

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode

    from triplecast.repository import QueryAnswer

_LANGUAGES = {".rdql": "rdql"}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "query",
        help="evaluate a query over the current documents of a folder",
        description="Evaluate a query over the current documents of a folder: all of them merged, and each as a named "
        "graph. Nothing is changed.",
    )
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help="the folder of a run, of `triplecast publish` or of Engine.open"
    )
    parser.add_argument("query", metavar="QUERY", help="a file, - (stdin), or the text of the query")
    parser.add_argument(
        "--language", choices=["sparql", "rdql"], help="the query's language; default: by the file's name, else sparql"
    )
    parser.add_argument(
        "--format", choices=["table", *_WRITERS], help="default: table, for CONSTRUCT ntriples", dest="form"
    )
    parser.add_argument("--json", action="store_const", const="json", dest="form", help="the same as --format json")
    parser.add_argument(
        "--entailment", choices=["taxonomy", "rdfs"], help="query what the folder's taxonomy entails too"
    )
    parser.add_argument("--steps", metavar="N", type=int, help="the most steps that the query may take")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import JournalFile, read_clock, system_clock, time_text
    from triplecast.repository import QUERY_STEPS, Repository, query_store

    if not has_journal(arguments.folder):
        hint = "give the folder of a run, of `triplecast publish` or of Engine.open"
        raise InputError(f"no journal in {arguments.folder}", hint)
    steps = QUERY_STEPS if arguments.steps is None else arguments.steps
    if steps < 1:
        raise InputError(f"a query cannot take {steps} steps", "give a number from 1")
    text, language = _read_query(arguments.query)
    with JournalFile.read_only(arguments.folder) as journal:
        store = Repository(journal, arguments.folder).follow()
        now = time_text(read_clock(system_clock))
        head = journal.head()
        taxonomy = journal.taxonomies(head, head).before(head + 1)
        answer = query_store(store, text, arguments.language or language, steps, now, arguments.entailment, taxonomy)
    _write(answer, arguments.form)
    return Exit.DONE if answer.matched else Exit.NOTHING


def _read_query(given: str) -> tuple[str, str]:
    """The text of a query, and its language by the name of its file."""
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace"), "sparql"
    if "{" in given or "\n" in given:
        return given, "sparql"
    path = Path(given)
    try:
        return path.read_text("utf-8"), _LANGUAGES.get(path.suffix, "sparql")
    except (OSError, UnicodeDecodeError) as error:
        hint = "name a file of UTF-8 text, or give the query itself in quotation marks"
        raise InputError(f"cannot read a query from {given}: {error}", hint) from None


def _write(answer: QueryAnswer, form: str | None) -> None:
    of_triples = answer.form == "construct"
    form = form or ("ntriples" if of_triples else "table")
    if of_triples != (form == "ntriples") or (answer.form == "ask" and form in ("csv", "tsv")):
        fitting = {"construct": "ntriples", "ask": "table or json"}.get(answer.form, "table, json, csv or tsv")
        raise InputError(f"the answer to {answer.form.upper()} cannot be written as {form}", f"use --format {fitting}")
    if form == "table":
        _write_table(answer)
    else:
        _WRITERS[form](answer)


def _write_table(answer: QueryAnswer) -> None:
    if answer.form == "ask":
        print_text("yes" if answer.matched else "no")
        return
    rows = [["" if term is None else str(term) for term in row] for row in answer.rows]
    print_text(table([[f"?{name}" for name in answer.variables], *rows], "<" * len(answer.variables)))


def _write_json(answer: QueryAnswer) -> None:
    """SPARQL 1.1 Query Results JSON (W3C, 2013)."""
    from triplecast.results import term_json

    if answer.form == "ask":
        print_json({"head": {}, "boolean": answer.matched})
        return
    bindings = [
        {name: term_json(term) for name, term in zip(answer.variables, row, strict=True) if term is not None}
        for row in answer.rows
    ]
    print_json({"head": {"vars": list(answer.variables)}, "results": {"bindings": bindings}})


def _write_csv(answer: QueryAnswer) -> None:
    """SPARQL 1.1 Query Results CSV (W3C, 2013): values without their kinds, lines end in CR LF."""
    writer = csv.writer(sys.stdout, lineterminator="\r\n")
    writer.writerow(answer.variables)
    writer.writerows([_value(term) for term in row] for row in answer.rows)


def _value(term: NamedNode | BlankNode | Literal | None) -> str:
    from pyoxigraph import BlankNode

    if term is None:
        return ""
    return str(term) if isinstance(term, BlankNode) else term.value


def _write_tsv(answer: QueryAnswer) -> None:
    """SPARQL 1.1 Query Results TSV (W3C, 2013): terms in N-Triples form."""
    print("\t".join(f"?{name}" for name in answer.variables))
    for row in answer.rows:
        print("\t".join("" if term is None else str(term).replace("\t", "\\t") for term in row))


def _write_ntriples(answer: QueryAnswer) -> None:
    for triple in answer.graph:
        print(" ".join(map(str, triple)), ".")


_WRITERS: Mapping[str, Callable[[QueryAnswer], None]] = MappingProxyType(
    {"json": _write_json, "csv": _write_csv, "tsv": _write_tsv, "ntriples": _write_ntriples}
)
