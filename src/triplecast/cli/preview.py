"""`triplecast preview`: count and show what a subscription would match."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

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
from triplecast.cli.terminal import Exit, describe_answer, describe_reject, print_json, print_text, say
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.offline import OfflineMatch

SHOWN = 5


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "preview",
        help="count and show what a subscription would match",
        description="Match one subscription against publications; print how many match, some of them, and its cost.",
    )
    parser.add_argument("subscription", metavar="SUBSCRIPTION", type=Path, help="read this subscription file")
    add_paths(parser, "--publications")
    parser.add_argument("--id", help="choose a subscription of a .jsonl file or folder")
    add_cutting(parser)
    add_taxonomy(parser)
    add_schema(parser)
    add_operators(parser)
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
    summary: dict[str, object] = {
        "subscription": subscription.name,
        "publications": publications,
        "matches": matches,
        "matches_per_1000": round(1000 * matches / publications, 1) if publications else 0.0,
        "undecided": undecided,
        "cost": admission.cost,
        "decided_by": "index" if admission.decided else "evaluator",
        "warnings": list(admission.warnings),
    }
    if arguments.json:
        print_json({**summary, "examples": [each.row() for each in examples]})
    else:
        _print(summary, examples)
    if undecided or rejected:
        return Exit.PARTLY
    return Exit.DONE if matches else Exit.NOTHING


def _print(summary: dict[str, object], examples: list[OfflineMatch]) -> None:
    undecided = f" ({summary['undecided']} undecided)" if summary["undecided"] else ""
    name = printable_name(str(summary["subscription"]))
    print_text(
        f"{name}: {summary['matches']} of {summary['publications']} publications match{undecided}, "
        f"{summary['matches_per_1000']} per 1,000; cost: {summary['cost']}, decided by the {summary['decided_by']}"
    )
    for warning in summary["warnings"] if isinstance(summary["warnings"], list) else ():
        print_text(f"note: {warning}")
    if not examples:
        print("note: nothing matched; `triplecast explain DOCUMENT SUBSCRIPTION` shows where a document fails")
    for match in examples:
        print_text(f"  {match.publication}  {describe_answer(match.recorded.firsts())}")
