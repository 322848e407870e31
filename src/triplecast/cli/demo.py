"""`triplecast demo`: run the pipeline on the sample data and show what matched."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triplecast.cli.run import describe_summary, exit_code, read_from, run_pipeline, summary_row
from triplecast.cli.terminal import StatusLine, clip, print_json, print_text, say, table
from triplecast.model.operators import NO_OPERATORS

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
        "--output", metavar="DIR", type=Path, help="keep inbox, journal and outbox here (default: remove them)"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per subscription, and the summary on stderr"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        return _run_in(arguments.output, arguments.json)
    with tempfile.TemporaryDirectory(prefix="triplecast-demo-") as folder:
        return _run_in(Path(folder), arguments.json)


def _run_in(folder: Path, as_json: bool) -> int:
    from triplecast.journal import Journal
    from triplecast.outbox import Definitions, Outbox

    with as_file(files("triplecast.samples")) as samples:
        subscriptions = samples / "subscriptions"
        shutil.copytree(samples / "inbox", folder / "inbox", dirs_exist_ok=True)
        StatusLine().show("Starting Spark; this takes about ten seconds ...")
        summary = run_pipeline(read_from([subscriptions], folder / "inbox"), folder / "run", once=True)
        with Outbox.read_only(folder / "run") as outbox, Journal.read_only(folder / "run") as journal:
            definitions = Definitions(journal.registrations, NO_OPERATORS)
            found = _count(outbox.notifications(definitions=definitions), subscriptions)
    if as_json:
        for each in found:
            print_json(each.row())
        say(json.dumps(summary_row(summary), separators=(",", ":")))
    else:
        cells = [(str(each.matches), each.subscription, clip(each.query, 50), each.example()) for each in found]
        print_text(table([("matches", "subscription", "query", "example"), *cells], "><<<"))
        print(describe_summary(summary))
    return exit_code(summary)


class _Matched(NamedTuple):
    """A subscription of the samples, and what it matched."""

    subscription: str
    query: str
    """Its first line, in words."""
    matches: int
    first: Notification | None

    def row(self) -> dict[str, object]:
        example = {"publication": self.first.publication, "answer": self.first.answer} if self.first else None
        return {"subscription": self.subscription, "query": self.query, "matches": self.matches, "example": example}

    def example(self) -> str:
        return clip(self.first.recorded.first(), 64) if self.first else ""


def _count(notifications: Iterable[Notification], subscriptions: Path) -> list[_Matched]:
    from triplecast.registry.files import load_subscriptions

    counts: Counter[str] = Counter()
    first: dict[str, Notification] = {}
    for each in notifications:
        counts[each.subscription] += 1
        first.setdefault(each.subscription, each)
    found = load_subscriptions([subscriptions]).subscriptions
    queries = [(each.name, each.text.splitlines()[0].lstrip("# ")) for each in found]
    return [_Matched(name, query, counts[name], first.get(name)) for name, query in queries]
