"""`triplecast explain`: show why a publication matches a subscription, or where it fails."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.inputs import (
    absolute_iri,
    add_cutting,
    add_schema,
    add_taxonomy,
    choose_subscription,
    has_journal,
    load_taxonomy,
)
from triplecast.cli.operators import add_operators
from triplecast.cli.service_url import add_service
from triplecast.cli.terminal import Exit, describe_reject, exit_of, print_json, print_text, say
from triplecast.errors import InputError

if TYPE_CHECKING:
    from triplecast.explain import Explanation
    from triplecast.model.publication import Draft, Reject
    from triplecast.results import Head

SHOWN = 3
"""Most explanations printed for a document of many publications."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        help="show why a publication matches, or where it fails",
        description="Explain why a document's publications match a subscription, or where they fail. Of many (a feed, "
        f"a dataset), explain the first {SHOWN} that match or, if none does, the first {SHOWN}; --graph names one. "
        "Of a folder and the id of a live rule, show the parts of the rule, and how many other rules have each.",
    )
    parser.add_argument("publication", metavar="PUBLICATION", type=Path, help="read this document, or a folder's rules")
    parser.add_argument(
        "subscription", metavar="SUBSCRIPTION", type=Path, help="a subscription file, or the id of a live rule"
    )
    parser.add_argument("--id", help="choose a subscription of a .jsonl file or folder")
    parser.add_argument("--graph", metavar="IRI", type=absolute_iri, help="choose a publication of the document")
    parser.add_argument(
        "--inbox", metavar="FOLDER", type=Path, help="name the document by its path in it, as `run` does"
    )
    add_cutting(parser)
    add_taxonomy(parser)
    add_schema(parser)
    add_operators(parser)
    add_service(parser, place=False)
    parser.add_argument("--ticket", help="with --url: that of SUBSCRIPTION, which is the id of a live one there")
    parser.add_argument("--json", action="store_true", help="print one JSON object per explanation")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.evaluate import Background
    from triplecast.explain import explain_subscription
    from triplecast.ingest import Parser
    from triplecast.ingest.document_files import read_documents
    from triplecast.offline import Versions, cut_batches, parse_batch
    from triplecast.operators.operator_set import declared_operators
    from triplecast.registry.admission import admit
    from triplecast.results import read_head

    if arguments.url is not None:
        return _explain_there(arguments)
    if has_journal(arguments.publication):
        return _explain_rule(arguments)
    taxonomy = load_taxonomy(arguments.taxonomy, arguments.broader)
    subscription = choose_subscription(arguments.subscription, arguments.id, arguments.schema)
    drafts: list[Draft] = []
    rejects: list[Reject] = []
    with Parser() as parser:
        for batch in cut_batches(
            read_documents([arguments.publication], arguments.dataset, arguments.inbox, arguments.split)
        ):
            found, refused, warnings = parse_batch(parser, batch)
            for line in warnings:
                say(line)
            drafts += found
            rejects += refused
    publications = [publication._replace(version=0) for publication in Versions().accept(drafts)]
    graphs = [publication.graph for publication in publications]
    if arguments.graph:
        publications = [publication for publication in publications if publication.graph == arguments.graph]
        if publications:
            rejects.clear()  # the other publications were not asked for
    for reject in rejects:
        say(describe_reject(reject))
    if not publications:
        raise InputError(
            f"no publication {f'{arguments.graph} ' if arguments.graph else ''}in {arguments.publication}",
            f"it has {', '.join(graphs[:SHOWN])}{' …' if graphs[SHOWN:] else ''}" if graphs else "fix the document",
        )
    operators = declared_operators()
    admission = admit(subscription, operators=operators)
    background = Background.of(admission.entailment, taxonomy)
    explanations = explain_subscription(subscription, publications, admission.bounded, background, operators)
    _print(explanations, arguments.json, read_head(subscription, operators))
    return exit_of(any(each.matched for each in explanations), rejects or any(each.undecided for each in explanations))


def _explain_there(arguments: argparse.Namespace) -> int:
    from triplecast.cli.remote import explain
    from triplecast.results import seen_head

    names = ("id", "inbox", "dataset", "split", "taxonomy", "schema", "operators")
    if any(getattr(arguments, name) for name in names):
        raise InputError("a service explains with what it has", f"leave out --{', --'.join(names)}")
    found = [each for each in explain(arguments) if arguments.graph in (None, each.publication)]
    if not found:
        problem = "the service explains what matches, or else the first publications: this is none of them"
        raise InputError(problem, "leave --graph out, or explain it where the folder is")
    _print(found, arguments.json, seen_head(dict(row) for each in found for row in each.solutions))
    return exit_of(any(each.matched for each in found), any(each.undecided for each in found))


def _explain_rule(arguments: argparse.Namespace) -> int:
    from triplecast.journal import JournalFile
    from triplecast.registry.live_rules import decompose_rule

    with JournalFile.read_only(arguments.publication) as journal:
        found = decompose_rule(journal, str(arguments.subscription))
    if arguments.json:
        row = asdict(found)
        for part in (each for parts in row["alternatives"] for each in parts):
            del part["key"]
        print_json(row)
    else:
        print_text(str(found))
    return Exit.DONE


def _print(explanations: Sequence[Explanation], as_json: bool, head: Head) -> None:
    from triplecast.results import results_json

    matched = [explanation for explanation in explanations if explanation.matched]
    shown = (matched or explanations)[:SHOWN]
    for explanation in shown:
        if as_json:
            row = asdict(explanation)
            del row["solutions"]
            print_json(row | {"answer": results_json(head, [dict(each) for each in explanation.solutions])})
        else:
            print_text(str(explanation))
    if len(explanations) > 1 and not as_json:
        print(f"{len(matched)} of {len(explanations)} publications match; use --graph IRI to explain another")
