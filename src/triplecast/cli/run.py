"""`triplecast run`: watch a folder or a topic of documents and match them on Spark."""

from __future__ import annotations

import argparse
import importlib.util
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import add_cutting, add_taxonomy, is_new_journal
from triplecast.cli.operators import add_operators, add_schedule, say_faults
from triplecast.cli.partition import add_cluster
from triplecast.cli.terminal import (
    Exit,
    StatusLine,
    count_of,
    describe_reject,
    describe_rest,
    describe_undecided,
    exit_of,
    print_json,
    say,
)
from triplecast.errors import InputError
from triplecast.model.extras import how_to_install
from triplecast.model.publication import Reject
from triplecast.model.subscription import BROAD_PER_OWNER

if TYPE_CHECKING:
    from triplecast.kafka import Kafka
    from triplecast.pipeline.report import Notice, Progress, Summary
    from triplecast.pipeline.run import Sources

SETTINGS = ("broad_per_owner", "schedule", "master", "partition", "shards", "snapshots", "folder")
"""Options that are settings of `pipeline.run.run`."""
RATED = 100
"""Fewest publications for which a rate is printed."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="watch a folder or a topic of documents and match them on Spark",
        description="Record every document of an inbox, or of a Kafka topic, in the journal, match it on Spark against "
        "the subscriptions and record notifications in the outbox (list them with `triplecast notifications DIR`). A "
        "changed document is a new version; a changed subscription is registered again.",
    )
    parser.add_argument(
        "--subscriptions",
        metavar="PATH",
        nargs="+",
        type=Path,
        default=[],
        help="register those of these files and folders (default: leave them as they are)",
    )
    parser.add_argument("--inbox", metavar="DIR", help="take documents from this folder, or from s3://BUCKET/PREFIX")
    parser.add_argument("--kafka", metavar="BROKERS", help="read or write topics of Kafka at HOST:PORT[,HOST:PORT…]")
    parser.add_argument("--publications", metavar="TOPIC", help="read documents from this topic, in place of an inbox")
    parser.add_argument("--notifications", metavar="TOPIC", help="send notifications to this topic")
    parser.add_argument(
        "--kafka-settings", metavar="FILE", type=Path, help="read name=value settings of librdkafka from it"
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        required=True,
        help="keep journal, index and outbox in it, or put notifications at s3://BUCKET/PREFIX",
    )
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="keep journal, index and outbox here if --output is an address"
    )
    parser.add_argument("--once", action="store_true", help="end when all documents that are there are matched")
    add_cutting(parser)
    add_taxonomy(parser)
    add_operators(parser)
    add_schedule(parser)
    add_cluster(parser)
    parser.add_argument(
        "--broad-per-owner",
        metavar="N",
        type=int,
        default=BROAD_PER_OWNER,
        help="allow each owner N broad subscriptions (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.pipeline.output_files import choose_folder

    is_new_journal(choose_folder(arguments.output, arguments.folder, arguments.inbox))
    say_faults()
    taxonomy = arguments.taxonomy, arguments.broader
    what = arguments.subscriptions, arguments.inbox, arguments.dataset, *taxonomy, arguments.split
    sources = read_from(*what, read_kafka(arguments))
    settings = {name: getattr(arguments, name) for name in SETTINGS}
    summary = run_pipeline(sources, arguments.output, arguments.once, **settings)
    if arguments.json:
        print_json(summary_row(summary))
    else:
        print(describe_summary(summary))
    return exit_code(summary, arguments.once)


def read_kafka(arguments: argparse.Namespace) -> Kafka | None:
    """Return what the options say of Kafka. Raises `InputError` for some without others."""
    topics = arguments.publications, arguments.notifications
    if arguments.kafka is None:
        if any(topics) or arguments.kafka_settings:
            raise InputError("options of Kafka are given, but not where it is", "add --kafka HOST:PORT")
        return None
    from triplecast.kafka.connection import Kafka, import_client, read_settings

    import_client()
    return Kafka(arguments.kafka, *topics, read_settings(arguments.kafka_settings) if arguments.kafka_settings else {})


def read_from(*sources: Any) -> Sources:
    """Return the `Sources` of a run. Raises `InputError` where PySpark is missing."""
    need_spark("`triplecast match` works without it")
    from triplecast.pipeline.run import Sources

    return Sources(*sources)


def need_spark(instead: str) -> None:
    """Raises `InputError` where PySpark is missing."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("the pipeline needs PySpark", f"{how_to_install('spark')}; {instead}")


def run_pipeline(sources: Sources, output: Path | str, once: bool, **settings: Any) -> Summary:
    """Run until done or interrupted; SIGINT and SIGTERM end it in order. `settings` are those of `pipeline.run.run`."""
    from triplecast.pipeline.report import Caller
    from triplecast.pipeline.run import run as run_on_spark

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    progress = StatusLine()
    up = threading.Event()

    def show(state: Progress) -> None:
        if not (once or progress.live or up.is_set()) and state.phase == "running":
            up.set()
            say(f"watching {sources.place} for {count_of(state.subscriptions, 'subscription')}")
        progress.show(describe_progress(state))

    def report(notice: Notice) -> None:
        progress.clear()
        say(describe_notice(notice))

    summary = run_on_spark(sources, output, once, Caller(show, report, stop), **settings)
    progress.clear()
    return summary


def describe_progress(state: Progress) -> str:
    rate = f", {state.rate:.0f} publications/s" if state.rate >= 1 else ""
    return (
        f"{state.phase}: {count_of(state.publications, 'publication')}, "
        f"{count_of(state.matches, 'match', 'matches')}, {state.rejects} rejected, {state.undecided} undecided"
        f"{rate}, {state.lag} behind"
    )


def describe_notice(notice: Notice) -> str:
    from triplecast.outbox import UndecidedPair

    if isinstance(notice, Reject):
        return describe_reject(notice)
    if isinstance(notice, UndecidedPair):
        return describe_undecided(notice.publication, notice.subscription, notice.reason)
    return str(notice)


def describe_summary(summary: Summary) -> str:
    more = describe_rest(len(summary.ignored) + len(summary.ignored_subscriptions), summary.warnings)
    lines = [
        f"{count_of(summary.publications, 'publication')} matched against "
        f"{count_of(summary.subscriptions, 'subscription')}: {count_of(summary.matches, 'notification')}",
        f"{summary.accepted} accepted, {summary.unchanged} unchanged, {summary.reject_count} rejected, "
        f"{summary.undecided} undecided, {count_of(len(summary.faults), 'subscription')} refused{more}",
        f"{summary.seconds:.1f} s in all" + _describe_rate(summary.publications, summary.matching_seconds),
    ]
    if summary.interrupted:
        accepted = f"{count_of(summary.left, 'accepted publication')} not matched yet"
        left = accepted if summary.left else "documents not read yet"
        lines.append(f"interrupted with {left}; the next run continues there")
    return "\n".join(lines)


def _describe_rate(publications: int, seconds: float) -> str:
    """Describe the rate, unless Spark's start would dominate it."""
    if publications < RATED or seconds <= 0:
        return ""
    return f", {seconds:.1f} s of matching ({publications / seconds:.0f} publications/s)"


def summary_row(summary: Summary) -> dict[str, object]:
    row = asdict(summary)
    row["rejects"] = [asdict(reject) for reject in summary.rejects]
    row["faults"] = [asdict(fault) for fault in summary.faults]
    return row


def exit_code(summary: Summary, once: bool = True) -> int:
    """A run that follows its inbox ends because it is stopped, and has no other end: that is no failure, whatever it
    rejected before and leaves to the next run."""
    if not once:
        return Exit.DONE
    if summary.interrupted:
        return Exit.INTERRUPTED
    return exit_of(summary.matches, summary.reject_count or summary.undecided or summary.faults)
