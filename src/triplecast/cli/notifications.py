"""`triplecast notifications`: the outbox of a run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from triplecast.cli.terminal import clip, describe_solution, print_json
from triplecast.errors import InputError

if TYPE_CHECKING:
    from triplecast.delivery import Notification

LOOK_EVERY = 0.5
"""Seconds between two looks with ``--follow``."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("notifications", help="the outbox of a run")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the run's output folder")
    parser.add_argument(
        "--since", metavar="SEQUENCE", type=int, default=0, help="only those after this sequence number"
    )
    parser.add_argument("--follow", action="store_true", help="wait for more, and for the folder, until interrupted")
    parser.add_argument("--json", action="store_true", help="one JSON object a notification")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from triplecast.delivery import Outbox
    from triplecast.delivery.outbox import DATABASE

    if not arguments.follow and not (arguments.folder / DATABASE).exists():
        raise InputError(
            f"{arguments.folder} holds no outbox",
            "name the folder that `triplecast run` was given as --output, or wait for it with --follow",
        )
    since = arguments.since
    told = 0
    with Outbox.read_only(arguments.folder) as outbox:
        while True:
            for notification in outbox.notifications(since):
                _tell(notification, arguments.json)
                since = notification.sequence
                told += 1
            if not arguments.follow:
                return 0 if told else 3
            sys.stdout.flush()
            sleep(LOOK_EVERY)


def _tell(notification: Notification, as_json: bool) -> None:
    solutions = json.loads(notification.bindings)
    if as_json:
        print_json(
            {
                "sequence": notification.sequence,
                "id": notification.id,
                "change": notification.change,
                "graph": notification.graph,
                "version": notification.version,
                "registration": notification.registration,
                "subscription": notification.name,
                "owner": notification.owner,
                "bindings": solutions,
                "accepted_at": notification.accepted_at,
            }
        )
        return
    more = f" (+{len(solutions) - 1} more)" if len(solutions) > 1 else ""
    shown = clip(describe_solution(solutions[0]))
    print(f"{notification.sequence}  {notification.name}  {notification.graph} v{notification.version}  {shown}{more}")
