"""`triplecast preview`: count and show what a subscription would match."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import (
    add_cutting,
    add_paths,
    add_schema,
    add_taxonomy,
    check_publications,
    choose_subscription,
    load_taxonomy,
)
from triplecast.cli.operators import add_operators
from triplecast.cli.service_url import add_service
from triplecast.cli.terminal import describe_answer, describe_reject, exit_of, print_json, print_text, say
from triplecast.errors import InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.offline import OfflineMatch

SHOWN = 5


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "preview",
        help="count and show what a subscription would match",
        description="Match one subscription against publications; print how many match, some of them, and its cost.",
    )
    parser.add_argument("subscription", metavar="SUBSCRIPTION", type=Path, help="read this subscription file")
    add_paths(parser, "--publications", required=False)
    parser.add_argument("--id", help="choose a subscription of a .jsonl file or folder")
    add_cutting(parser)
    add_taxonomy(parser)
    add_schema(parser)
    add_operators(parser)
    add_service(parser, place=False)
    parser.add_argument("--last", metavar="N", type=int, default=1000, help="with --url: of its newest publications")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.ingest.document_files import read_documents
    from triplecast.offline import match_documents
    from triplecast.operators.operator_set import declared_operators
    from triplecast.registry.admission import Admitted, examine
    from triplecast.registry.hearing import refuse_updates

    taxonomy = load_taxonomy(arguments.taxonomy, arguments.broader)
    subscription = choose_subscription(arguments.subscription, arguments.id, arguments.schema)
    if (arguments.url is None) == (arguments.publications is None):
        raise InputError("a preview is of publications", "give either --publications PATH… or --url URL")
    if arguments.url is not None:
        return _preview_there(arguments, subscription)
    operators = declared_operators()
    taken = examine(subscription, operators=operators, is_live=True, has_taxonomy=lambda: bool(taxonomy.lines))
    refuse_updates(taken.compiled.template, subscription.name)
    admission = taken.admission
    publications = matches = undecided = rejected = 0
    examples: list[OfflineMatch] = []
    check_publications(arguments.publications)
    documents = read_documents(arguments.publications, arguments.dataset, split=arguments.split)
    for outcome in match_documents(Admitted((subscription,)), documents, taxonomy=taxonomy):
        publications += len(outcome.publications)
        matches += len(outcome.matched)
        undecided += len(outcome.matched.undecided)
        rejected += len(outcome.rejects)
        for reject in outcome.rejects:
            say(describe_reject(reject))
        for line in outcome.warnings:
            say(line)
        for pair in outcome.matched.undecided:
            say(f"undecided {outcome.publications[pair.publication].graph}: {pair.reason}")
        examples += islice(outcome.matches((subscription,)), SHOWN - len(examples))
    summary = {"subscription": subscription.name, "publications": publications, "matches": matches}
    summary["matches_per_1000"] = _per_1000(summary)
    summary |= {"undecided": undecided, "cost": admission.cost, "warnings": list(admission.warnings)}
    summary["decided_by"] = "index" if admission.decided else "evaluator"
    if arguments.json:
        print_json({**summary, "examples": [each.row() for each in examples]})
    else:
        _print(summary, [f"{each.publication}  {describe_answer(each.recorded.firsts())}" for each in examples])
    return exit_of(matches, undecided + rejected)


def _preview_there(arguments: argparse.Namespace, subscription: Subscription) -> int:
    from triplecast.cli.remote import preview

    names = ("dataset", "split", "taxonomy", "operators")
    if any(getattr(arguments, name) for name in names):
        raise InputError("a service counts what it has published", f"leave out --{', --'.join(names)}")
    row, lines = preview(arguments, subscription)
    summary = {"subscription": subscription.name} | row | {"matches_per_1000": _per_1000(row)}
    if arguments.json:
        print_json(summary)
    else:
        _print(summary, lines[:SHOWN])
    return exit_of(row["matches"], row["undecided"])


def _per_1000(row: Mapping[str, Any]) -> float:
    return round(1000 * row["matches"] / row["publications"], 1) if row["publications"] else 0.0


def _print(summary: Mapping[str, Any], examples: list[str]) -> None:
    undecided = f" ({summary['undecided']} undecided)" if summary["undecided"] else ""
    name = printable_name(str(summary["subscription"]))
    print_text(
        f"{name}: {summary['matches']} of {summary['publications']} publications match{undecided}, "
        f"{summary['matches_per_1000']} per 1,000; cost: {summary['cost']}"
        + (f", decided by the {summary['decided_by']}" if "decided_by" in summary else "")
    )
    for warning in summary["warnings"]:
        print_text(f"note: {warning}")
    if not examples:
        print("note: nothing matched; `triplecast explain DOCUMENT SUBSCRIPTION` shows where a document fails")
    for match in examples:
        print_text(f"  {match}")
