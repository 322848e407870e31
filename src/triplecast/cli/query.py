"""`triplecast query`: evaluate a query over the current documents of a folder."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.inputs import check_journal
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import Exit, print_text, table
from triplecast.errors import InputError

if TYPE_CHECKING:
    from triplecast.repository import QueryAnswer

_LANGUAGES = {".rdql": "rdql"}
_FORMS = ("table", "json", "xml", "csv", "tsv", "ntriples")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "query",
        help="evaluate a query over the current documents of a folder",
        description="Evaluate a query over the current documents of a folder: all of them merged, and each as a named "
        "graph. Nothing is changed.",
    )
    parser.add_argument(
        "folder", metavar="DIR", type=folder_or_url, help="the folder of a run, of a service or of Engine.open"
    )
    parser.add_argument("query", metavar="QUERY", help="a file, - (stdin), or the text of the query")
    parser.add_argument("--language", choices=["sparql", "rdql"], help="default: by the file's name, else sparql")
    parser.add_argument("--format", choices=_FORMS, help="default: table, for CONSTRUCT ntriples", dest="form")
    parser.add_argument("--json", action="store_const", const="json", dest="form", help="the same as --format json")
    parser.add_argument("--entailment", choices=["taxonomy", "rdfs"], help="query what its taxonomy entails too")
    parser.add_argument("--steps", metavar="N", type=int, help="the most steps that the query may take")
    add_service(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if isinstance(arguments.folder, ServiceUrl):
        return _ask_service(arguments, arguments.folder)
    from triplecast.journal import JournalFile, read_clock, system_clock, time_text
    from triplecast.repository import QUERY_STEPS, Repository, query_store

    check_journal(arguments.folder)
    steps = QUERY_STEPS if arguments.steps is None else arguments.steps
    if steps < 1:
        raise InputError(f"a query cannot take {steps} steps", "give a number from 1")
    text, language = _read_query(arguments.query)
    with JournalFile.read_only(arguments.folder) as journal:
        repository = Repository(journal, arguments.folder)
        store, taxonomy = repository.follow(), repository.taxonomy
        now = time_text(read_clock(system_clock))
        answer = query_store(store, text, arguments.language or language, steps, now, arguments.entailment, taxonomy)
    _write(answer, arguments.form)
    return Exit.DONE if answer.matched else Exit.NOTHING


def _ask_service(arguments: argparse.Namespace, url: ServiceUrl) -> int:
    from triplecast.local import HttpProvider

    text, language = _read_query(arguments.query)
    if (arguments.language or language) != "sparql" or arguments.entailment or arguments.steps is not None:
        raise InputError("a service answers SPARQL alone, within limits of its own", "leave the other options out")
    with closing(HttpProvider(url, arguments.token)) as service:
        answer = service.query(text)
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
    from triplecast.repository.answer_text import WRITERS

    of_triples = answer.form == "construct"
    form = form or ("ntriples" if of_triples else "table")
    if of_triples != (form == "ntriples") or (answer.form == "ask" and form in ("csv", "tsv")):
        fitting = {"construct": "ntriples", "ask": "table, json or xml"}.get(
            answer.form, "table, json, xml, csv or tsv"
        )
        raise InputError(f"the answer to {answer.form.upper()} cannot be written as {form}", f"use --format {fitting}")
    if form == "table":
        _write_table(answer)
    else:
        sys.stdout.write(WRITERS[form](answer))


def _write_table(answer: QueryAnswer) -> None:
    if answer.form == "ask":
        print_text("yes" if answer.matched else "no")
        return
    rows = [["" if term is None else str(term) for term in row] for row in answer.rows]
    print_text(table([[f"?{name}" for name in answer.variables], *rows], "<" * len(answer.variables)))
