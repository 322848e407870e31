"""`triplecast notifications`: list notifications, rejected documents or undecided pairs of a run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import say_unknown
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import Exit, describe_notification, describe_reject, describe_undecided
from triplecast.errors import InputError
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.printable import json_line, printable
from triplecast.model.publication import Reject

if TYPE_CHECKING:
    from triplecast.journal import JournalFile, Rejected
    from triplecast.outbox import Cursor, OutboxReader

LOOK_EVERY = 0.5
"""Seconds between two reads with ``--follow``."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "notifications",
        help="list notifications, rejects or undecided pairs of a folder",
        description="Print the notifications of a folder in order. With --rejects, print rejected documents; "
        "with --undecided, the pairs of a publication and a subscription whose operator failed or budget ran out.",
    )
    parser.add_argument(
        "folder", metavar="DIR", type=folder_or_url, help="the folder of a run, of a service or of Engine.open"
    )
    parser.add_argument(
        "--since",
        metavar="SEQUENCE",
        default="0",
        help="print only notifications after this sequence, after this cursor of one, of what was accepted after this "
        "time (2026-11-24T09:00:00Z), or from now on (now)",
    )
    parser.add_argument(
        "--after", metavar="POSITION", type=int, default=0, help="print only what is after this journal position"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--rejects", action="store_true", help="print rejected documents instead")
    kind.add_argument("--undecided", action="store_true", help="print undecided pairs instead")
    parser.add_argument("--subscription", metavar="ID", help="print only notifications of this subscription")
    parser.add_argument("--owner", metavar="NAME", help="print only notifications of this owner's subscriptions")
    parser.add_argument("--follow", action="store_true", help="wait for more, and for the folder, until interrupted")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    add_service(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import Journal
    from triplecast.outbox import Outbox
    from triplecast.outbox.reader import DATABASE

    is_remote = isinstance(arguments.folder, ServiceUrl)
    if not is_remote and not arguments.follow and not (arguments.folder / DATABASE).exists():
        raise InputError(
            f"no outbox in {arguments.folder}",
            "give the folder of a run, of `triplecast publish` or of Engine.open, or wait for it with --follow",
        )
    with_positions = arguments.rejects or arguments.undecided
    if arguments.since != "0" and with_positions:
        raise InputError("--since takes a sequence, which only notifications have", "give a position: --after POSITION")
    if arguments.after and not with_positions:
        raise InputError("--after takes a position, by which notifications are not in order", "use --since SEQUENCE")
    if with_positions and (arguments.subscription or arguments.owner):
        raise InputError("--subscription and --owner are of notifications", "leave --rejects and --undecided out")
    if is_remote:
        from triplecast.cli.remote import open_client, print_notifications

        if not with_positions:
            return Exit.DONE if print_notifications(arguments) else Exit.NOTHING
        with open_client(arguments) as client:
            ask = client.rejects if arguments.rejects else client.undecided
            return Exit.DONE if _print_positions(arguments, ask) else Exit.NOTHING
    with Outbox.read_only(arguments.folder) as outbox, Journal.read_only(arguments.folder) as journal:
        if not with_positions:
            return Exit.DONE if _print_notifications(arguments, outbox, journal) else Exit.NOTHING
        found = partial(_rows_of, arguments, outbox, journal)
        return Exit.DONE if _print_positions(arguments, found) else Exit.NOTHING


def _print_notifications(arguments: argparse.Namespace, outbox: OutboxReader, journal: JournalFile) -> bool:
    """Print what there is, and with ``--follow`` what comes; return whether there was something."""
    from triplecast.outbox.following import follow, read_place

    printed, is_first = False, True

    def wait(_: int) -> bool:
        nonlocal is_first
        if is_first and not printed and (arguments.subscription or arguments.owner):
            say_unknown(arguments.folder, arguments.owner, arguments.subscription)
        is_first = False
        return arguments.follow and look_again()

    place = read_place(outbox, arguments.since)
    for text in follow(outbox, place, lambda place: texts(arguments, outbox, journal, place), wait):
        print(text, end="")
        printed = True
    return printed


def _print_positions(arguments: argparse.Namespace, rows_after: Callable[[int], Iterable[dict[str, Any]]]) -> bool:
    """The same for rejects and undecided pairs, which are in order of position."""
    after, printed = arguments.after, False
    describe = _reject_line if arguments.rejects else _undecided_line
    while True:
        for row in rows_after(after):
            print(json_line(row) if arguments.json else printable(f"{row['position']}  {describe(row)}"))
            after, printed = row["position"], True
        if not (arguments.follow and look_again()):
            return printed


def _rows_of(
    arguments: argparse.Namespace, outbox: OutboxReader, journal: JournalFile, after: int
) -> Iterable[dict[str, Any]]:
    if arguments.rejects:
        return map(reject_row, journal.rejects(after))
    return (pair._asdict() for pair in outbox.undecided(after))


def look_again() -> bool:
    """Wait for more in a folder that another process writes."""
    sys.stdout.flush()
    sleep(LOOK_EVERY)
    return True


def texts(
    arguments: argparse.Namespace, outbox: OutboxReader, journal: JournalFile, place: Cursor | int
) -> Iterator[tuple[Cursor, str]]:
    """Yield notifications as they are printed, one line or more at a time, with the cursor of the last one."""
    from triplecast.outbox import Definitions

    wanted = arguments.subscription, arguments.owner
    definitions = Definitions(journal.registrations, NO_OPERATORS.with_recorded(journal.operators()))
    if arguments.json:
        yield from outbox.json_lines(place, *wanted, definitions)
    else:
        for each in outbox.notifications(place, None, *wanted, definitions):
            firsts = each.recorded.firsts()
            line = describe_notification(each.sequence, each.publication, each.version, each.subscription, firsts)
            yield each.cursor, printable(line) + "\n"


def reject_row(rejected: Rejected) -> dict[str, Any]:
    return {"position": rejected.position, **asdict(rejected.reject), "rejected_at": rejected.rejected_at}


def _reject_line(row: dict[str, Any]) -> str:
    return describe_reject(Reject(*(row[each.name] for each in fields(Reject))))


def _undecided_line(row: dict[str, Any]) -> str:
    return describe_undecided(f"{row['publication']} v{row['version']}", row["subscription"], row["reason"])
