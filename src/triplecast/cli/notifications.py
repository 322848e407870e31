"""`triplecast notifications`: list notifications, rejected documents or undecided pairs of a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from triplecast.cli.inputs import say_unknown
from triplecast.cli.terminal import Exit, describe_answer, describe_reject, describe_undecided
from triplecast.errors import InputError
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.printable import json_line, printable, printable_name

if TYPE_CHECKING:
    from triplecast.journal import JournalFile, Rejected
    from triplecast.outbox import Notification, OutboxReader, UndecidedPair

LOOK_EVERY = 0.5
"""Seconds between two reads with ``--follow``."""

Row = tuple[str | int, dict[str, object], str]
"""What `--since` or `--after` takes to go on from it, the row as JSON, the row as a line."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "notifications",
        help="list notifications, rejects or undecided pairs of a folder",
        description="Print the notifications of a folder in order. With --rejects, print rejected documents; "
        "with --undecided, the pairs of a publication and a subscription whose operator failed or budget ran out.",
    )
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help="the folder of a run, of `triplecast publish` or of Engine.open"
    )
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
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--rejects", action="store_true", help="print rejected documents instead")
    kind.add_argument("--undecided", action="store_true", help="print undecided pairs instead")
    parser.add_argument("--subscription", metavar="ID", help="print only notifications of this subscription")
    parser.add_argument("--owner", metavar="NAME", help="print only notifications of this owner's subscriptions")
    parser.add_argument("--follow", action="store_true", help="wait for more, and for the folder, until interrupted")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import Journal
    from triplecast.outbox import Cursor, Outbox
    from triplecast.outbox.reader import DATABASE

    if not arguments.follow and not (arguments.folder / DATABASE).exists():
        raise InputError(
            f"no outbox in {arguments.folder}",
            "give the folder of a run, of `triplecast publish` or of Engine.open, or wait for it with --follow",
        )
    since: str | int = arguments.since
    after, printed = arguments.after, 0
    if since != "0" and (arguments.rejects or arguments.undecided):
        raise InputError("--since takes a sequence, which only notifications have", "give a position: --after POSITION")
    if after and not (arguments.rejects or arguments.undecided):
        raise InputError("--after takes a position, by which notifications are not in order", "use --since SEQUENCE")
    if (arguments.rejects or arguments.undecided) and (arguments.subscription or arguments.owner):
        raise InputError("--subscription and --owner are of notifications", "leave --rejects and --undecided out")
    wanted = arguments.subscription, arguments.owner
    is_first = True
    with Outbox.read_only(arguments.folder) as outbox, Journal.read_only(arguments.folder) as journal:
        while True:
            state = outbox.state
            for place, text in texts(arguments, outbox, journal, since, after):
                since, after = place, place
                print(text, end="")
                printed += 1
            if is_first and any(wanted) and not printed:
                say_unknown(arguments.folder, arguments.owner, arguments.subscription)
            is_first = False
            if not arguments.follow:
                return Exit.DONE if printed else Exit.NOTHING
            if any(wanted) and state.sequence > sequence_of(since):
                since = str(Cursor(state.epoch, state.sequence))  # those of others are not looked at again
            sys.stdout.flush()
            sleep(LOOK_EVERY)


def texts(
    arguments: argparse.Namespace, outbox: OutboxReader, journal: JournalFile, since: str | int, after: int
) -> Iterator[tuple[str | int, str]]:
    """Yield what is printed, one line or more at a time, with the place to go on from after it."""
    from triplecast.outbox import Definitions

    if arguments.rejects or arguments.undecided:
        rejects = map(reject_row, journal.rejects(after)) if arguments.rejects else ()
        for place, row, line in rejects or map(undecided_row, outbox.undecided(after)):
            yield place, (json_line(row) if arguments.json else printable(line)) + "\n"
        return
    wanted = arguments.subscription, arguments.owner
    definitions = Definitions(journal.registrations, NO_OPERATORS.with_recorded(journal.operators()))
    if arguments.json:
        for cursor, lines in outbox.json_lines(since, *wanted, definitions):
            yield str(cursor), lines
    else:
        for each in outbox.notifications(since, None, *wanted, definitions):
            yield str(each.cursor), printable(notification_line(each)) + "\n"


def sequence_of(since: str | int) -> int:
    from triplecast.outbox import Cursor

    place = Cursor.of(since)
    return place.sequence if isinstance(place, Cursor) else place


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


def notification_line(notification: Notification) -> str:
    shown = f"{notification.publication} v{notification.version}  {describe_answer(notification.recorded)}"
    return f"{notification.sequence}  {printable_name(notification.subscription)}  {shown}"
