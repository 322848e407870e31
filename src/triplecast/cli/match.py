"""`triplecast match`: match files offline, without a JVM."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from triplecast.cli.inputs import (
    add_cutting,
    add_paths,
    add_schema,
    add_taxonomy,
    check_publications,
    load_admitted,
    load_taxonomy,
)
from triplecast.cli.operators import add_operators, add_schedule
from triplecast.cli.partition import add_partition
from triplecast.cli.terminal import (
    Exit,
    StatusLine,
    count_of,
    describe_answer,
    describe_reject,
    describe_rest,
    describe_undecided,
    exit_of,
    print_json,
    print_text,
    say,
)
from triplecast.model.printable import printable_name
from triplecast.model.subscription import SubscriptionCounts

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.offline import MatchedDocuments, OfflineMatch


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "match",
        help="match files offline, without a JVM",
        description="Match publications against subscriptions and print one line per match. Report rejected documents, "
        "refused subscriptions, undecided pairs and final counts on stderr.",
    )
    add_paths(parser, "--subscriptions", "--publications")
    add_cutting(parser)
    add_taxonomy(parser)
    add_schema(parser)
    add_operators(parser)
    add_schedule(parser)
    add_partition(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object per match, and the counts on stderr")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.ingest.document_files import read_documents
    from triplecast.offline import match_documents
    from triplecast.registry.admission import first_of

    taxonomy = load_taxonomy(arguments.taxonomy, arguments.broader)
    admitted = load_admitted(arguments.subscriptions, arguments.dataset, taxonomy, arguments.schema)
    for line in first_of(admitted.warnings):
        say(line)
    tally = Tally(len(admitted.faults), arguments.json)
    tally.ignored = len(admitted.ignored) + check_publications(arguments.publications)
    tally.warnings = len(admitted.warnings)
    tally.live = admitted.live
    tally.compile()
    documents = read_documents(arguments.publications, arguments.dataset, split=arguments.split)
    for outcome in match_documents(
        admitted,
        documents,
        taxonomy=taxonomy,
        schedule=arguments.schedule,
        strategy=arguments.partition,
        shards=arguments.shards,
    ):
        tally.add(outcome, admitted.subscriptions)
    tally.end(len(admitted.subscriptions))
    if not tally.publications and (tally.rejects or tally.faults):
        return Exit.FAILED
    return exit_of(tally.matches, tally.rejects or tally.undecided or tally.faults)


class Tally:
    """Prints matches, rejects and undecided pairs as they come, and counts them."""

    def __init__(self, faults: int, as_json: bool) -> None:
        from triplecast.model.match import MatchStats

        self.faults = faults
        self.publications = self.matches = self.rejects = self.undecided = 0
        self.ignored = self.warnings = 0
        self.live = SubscriptionCounts()
        self.work = MatchStats()
        self._json = as_json
        self._progress = StatusLine()

    def compile(self) -> None:
        from triplecast.kernels.compiling import compile_kernels

        compile_kernels()

    def add(self, outcome: MatchedDocuments, subscriptions: tuple[Subscription, ...]) -> None:
        self._progress.clear()
        matched = outcome.matched
        for match in outcome.matches(subscriptions):
            self._print(match)
        for line in outcome.warnings:
            say(line)
        for reject in outcome.rejects:
            say(describe_reject(reject))
        for pair in matched.undecided:
            graph = outcome.publications[pair.publication].graph
            say(describe_undecided(graph, subscriptions[pair.registration - 1].name, pair.reason))
        self.publications += len(outcome.publications)
        self.matches += len(matched)
        self.rejects += len(outcome.rejects)
        self.undecided += len(matched.undecided)
        self.work += matched.stats
        self._progress.show(f"{self.publications} publications, {self.matches} matches")

    def end(self, subscriptions: int) -> None:
        """Print the counts on stderr, since stdout holds only matches."""
        self._progress.clear()
        if self._json:
            say(json.dumps(self.counts(subscriptions), separators=(",", ":")))
        else:
            more = describe_rest(self.ignored, self.warnings)
            say(
                f"{count_of(self.publications, 'publication')}, {count_of(subscriptions, 'subscription')}: "
                f"{count_of(self.matches, 'match', 'matches')}, {self.rejects} rejected, {self.undecided} undecided, "
                f"{count_of(self.faults, 'subscription')} refused{more}"
            )

    def counts(self, subscriptions: int) -> dict[str, object]:
        return {
            "publications": self.publications,
            "subscriptions": subscriptions,
            "matches": self.matches,
            "undecided": self.undecided,
            "reject_count": self.rejects,
            "fault_count": self.faults,
            "ignored_count": self.ignored,
            "warnings": self.warnings,
            "live": asdict(self.live),
            "work": asdict(self.work),
        }

    def _print(self, match: OfflineMatch) -> None:
        if self._json:
            print_json(match.row())
        else:
            print_text(
                f"{match.publication}  {printable_name(match.subscription)}  {describe_answer(match.recorded.firsts())}"
            )
