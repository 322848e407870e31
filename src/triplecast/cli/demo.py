"""`triplecast demo`: run the pipeline on the sample data and show what matched."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.cli.run import describe_summary, exit_code, read_from, run_pipeline
from triplecast.cli.terminal import StatusLine, clip, describe_solution, print_text, table

if TYPE_CHECKING:
    from triplecast.outbox import Notification


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="run the pipeline on sample data and show what matched",
        description="Copy the sample documents (three news feeds, a data catalogue, essays) to a new inbox, run the "
        "pipeline on Spark once with the sample subscriptions, and show what matched.",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="keep inbox, journal and outbox in this folder (default: remove them)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        return _run_in(arguments.output)
    with tempfile.TemporaryDirectory(prefix="triplecast-demo-") as folder:
        return _run_in(Path(folder))


def _run_in(folder: Path) -> int:
    from triplecast.outbox import Outbox

    with as_file(files("triplecast.samples")) as samples:
        subscriptions = samples / "subscriptions"
        shutil.copytree(samples / "inbox", folder / "inbox", dirs_exist_ok=True)
        StatusLine().show("Starting Spark; this takes about ten seconds ...")
        summary = run_pipeline(read_from([subscriptions], folder / "inbox"), folder / "run", once=True)
        with Outbox.read_only(folder / "run") as outbox:
            print_text(_describe(list(outbox.notifications()), subscriptions))
    print(describe_summary(summary))
    return exit_code(summary)


def _describe(notifications: list[Notification], subscriptions: Path) -> str:
    counts = Counter(notification.subscription for notification in notifications)
    first = {notification.subscription: notification for notification in reversed(notifications)}
    rows = [("matches", "subscription", "query", "example")]
    for path in sorted(subscriptions.rglob("*.rq")):
        name = path.relative_to(subscriptions).as_posix()
        asked = path.read_text("utf-8").splitlines()[0].lstrip("# ")
        example = _example(first[name]) if name in first else ""
        rows.append((str(counts[name]), name, clip(asked, 50), clip(example, 64)))
    return table(rows, "><<<")


def _example(notification: Notification) -> str:
    return describe_solution(json.loads(notification.bindings)[0])
