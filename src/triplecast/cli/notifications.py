"""`triplecast notifications`: the outbox of a run, what it rejected and what it could not decide."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from triplecast.cli.exits import Exit
from triplecast.cli.terminal import clip, describe_reject, describe_solution, describe_undecided, print_json, tell
from triplecast.errors import InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.journal import Rejected
    from triplecast.outbox import Notification, UndecidedPair

LOOK_EVERY = 0.5
"""Seconds between two looks with ``--follow``."""


Row = tuple[str | int, dict[str, object], str]
"""What `--since` or `--after` takes to go on from it, the row as JSON, the row as a line."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "notifications",
        help="the outbox of a run; what it rejected; what it could not decide",
        description="Prints the notifications of a run, in order; or, with --rejects, the documents that it did not "
        "accept, with --undecided the pairs that could not be decided, since an operator failed or a budget ran out.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the run's output folder")
    parser.add_argument(
        "--since",
        metavar="SEQUENCE",
        default="0",
        help="print only notifications after this sequence, or after this cursor of one",
    )
    parser.add_argument(
        "--after",
        metavar="POSITION",
        type=int,
        default=0,
        help="print only rejects or undecided pairs after this journal position",
    )
    told = parser.add_mutually_exclusive_group()
    told.add_argument("--rejects", action="store_true", help="what was rejected, instead")
    told.add_argument("--undecided", action="store_true", help="what was not decided, instead")
    parser.add_argument("--follow", action="store_true", help="wait for more, and for the folder, until interrupted")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import Journal
    from triplecast.outbox import Outbox
    from triplecast.outbox.reader import DATABASE

    if not arguments.follow and not (arguments.folder / DATABASE).exists():
        raise InputError(
            f"{arguments.folder} holds no outbox",
            "name the folder that `triplecast run` was given as --output, or wait for it with --follow",
        )
    since: str | int = arguments.since
    after, told = arguments.after, 0
    if since != "0" and (arguments.rejects or arguments.undecided):
        raise InputError("--since takes a sequence, which only notifications have", "give a position: --after POSITION")
    if after and not (arguments.rejects or arguments.undecided):
        raise InputError("--after takes a position, by which notifications are not in order", "use --since SEQUENCE")
    with Outbox.read_only(arguments.folder) as outbox, Journal.read_only(arguments.folder) as journal:
        while True:
            if arguments.rejects:
                rows = map(reject_row, journal.rejects(after))
            elif arguments.undecided:
                rows = map(undecided_row, outbox.undecided(after))
            else:
                rows = map(notification_row, outbox.notifications(since))
            for place, row, line in rows:
                since, after = place, place
                if arguments.json:
                    print_json(row)
                else:
                    tell(line)
                told += 1
            if not arguments.follow:
                return Exit.DONE if told else Exit.NOTHING
            sys.stdout.flush()
            sleep(LOOK_EVERY)


def reject_row(rejected: Rejected) -> Row:
    row = {"position": rejected.position, **asdict(rejected.reject), "rejected_at": rejected.rejected_at}
    return rejected.position, row, f"{rejected.position}  {describe_reject(rejected.reject)}"


def undecided_row(pair: UndecidedPair) -> Row:
    row: dict[str, object] = {
        "position": pair.position,
        "id": pair.id,
        "publication": pair.publication,
        "version": pair.version,
        "registration": pair.registration,
        "subscription": pair.subscription,
        "owner": pair.owner,
        "reason": pair.reason,
    }
    line = (
        f"{pair.position}  {describe_undecided(f'{pair.publication} v{pair.version}', pair.subscription, pair.reason)}"
    )
    return pair.position, row, line


def notification_row(notification: Notification) -> Row:
    solutions = json.loads(notification.bindings)
    row: dict[str, object] = {
        "sequence": notification.sequence,
        "cursor": str(notification.cursor),
        "id": notification.id,
        "change": notification.change,
        "publication": notification.publication,
        "version": notification.version,
        "position": notification.position,
        "registration": notification.registration,
        "subscription": notification.subscription,
        "owner": notification.owner,
        "bindings": solutions,
        "accepted_at": notification.accepted_at,
    }
    more = f" (+{len(solutions) - 1} more)" if len(solutions) > 1 else ""
    shown = f"{notification.publication} v{notification.version}  {clip(describe_solution(solutions[0]))}{more}"
    return (
        str(notification.cursor),
        row,
        f"{notification.sequence}  {printable_name(notification.subscription)}  {shown}",
    )
