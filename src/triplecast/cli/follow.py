"""`triplecast follow`, `replicate` and `gc`: folders that follow a provider."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from triplecast.cli.inputs import check_journal
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import Exit, count_of, print_json, print_text, say
from triplecast.errors import EgressFailed, InputError, ServiceRefused
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.local import Holder, HttpProvider, LocalRepository, Replica
    from triplecast.registry.lines import LoadedSubscriptions

LOOK_EVERY = 1.0
"""Seconds between two looks at a provider."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "follow",
        help="keep a local repository of what subscriptions select of a provider",
        description="Hold in DIR the resources that the subscriptions select of PROVIDER, with what they refer to "
        "strongly, and follow what changes. `triplecast query DIR` asks them.",
    )
    parser.add_argument("provider", metavar="PROVIDER", type=folder_or_url, help="a provider's folder, or a service")
    parser.add_argument("--into", metavar="DIR", type=Path, required=True, help="the local folder, made if missing")
    parser.add_argument(
        "--subscriptions",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="have these there, and no others (default: leave them)",
    )
    _add_rest(parser, follow)

    parser = commands.add_parser(
        "replicate",
        help="keep a replica of a provider, or make a provider of it",
        description="Take in DIR what PROVIDER records, at the same positions. A replica serves readers and local "
        "repositories, and refuses other writes.",
    )
    parser.add_argument("provider", metavar="PROVIDER", type=folder_or_url, nargs="?", help="its folder, or a service")
    parser.add_argument("--into", metavar="DIR", type=Path, required=True, help="the replica; -: print it as RDF Patch")
    parser.add_argument("--promote", action="store_true", help="make a provider of DIR, in the place of its own")
    _add_rest(parser, replicate)

    parser = commands.add_parser(
        "gc",
        help="list what a local repository holds and why; drop what nothing holds",
        description="Print each held resource of the local repository DIR with what holds it, and drop those that "
        "nothing holds.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of a local repository")
    parser.add_argument("--dry-run", action="store_true", help="drop nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object per resource")
    parser.set_defaults(run=collect)


def _add_rest(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    parser.add_argument("--once", action="store_true", help="come to where the provider is, and end")
    parser.add_argument("--json", action="store_true", help="print one JSON object per step")
    add_service(parser)
    parser.set_defaults(run=run)


def follow(arguments: argparse.Namespace) -> int:
    from triplecast.local import LocalRepository
    from triplecast.registry.files import load_subscriptions

    check_journal(arguments.provider)
    loaded = None if arguments.subscriptions is None else load_subscriptions(arguments.subscriptions)
    with LocalRepository.open(arguments.into, _provider(arguments)) as repository:
        refused = 0 if loaded is None else _have_subscriptions(repository, loaded)
        if not repository.subscriptions():
            coming = loaded is not None and len(loaded.subscriptions) + len(loaded.faults) > refused
            hint = "they come with its next replication" if coming else "name some with --subscriptions"
            say(f"{arguments.into} has no subscription at {arguments.provider}: {hint}")
        _go_on(arguments, repository, lambda at: repository.provider.position() != at)
        return Exit.PARTLY if refused else Exit.DONE


def _have_subscriptions(repository: LocalRepository, loaded: LoadedSubscriptions) -> int:
    """Have those of files at the provider; return how many cannot be."""
    from triplecast.registry.lines import SubscriptionFault

    for fault in loaded.faults:
        say(str(fault))
    outcomes = repository.replace_subscriptions({each.name: each for each in loaded.subscriptions})
    places = {each.name: place for each, place in zip(loaded.subscriptions, loaded.places, strict=True)}
    refused = {id: outcome for id, outcome in outcomes.items() if isinstance(outcome, Exception)}
    for id, refusal in refused.items():
        what, hint = (refusal.what, refusal.hint) if isinstance(refusal, InputError) else (str(refusal), "")
        say(str(SubscriptionFault(places[id], what, hint)))
    return len(refused) + len(loaded.faults)


def replicate(arguments: argparse.Namespace) -> int:
    from triplecast.local import Replica, promote

    if arguments.promote == (arguments.provider is not None):
        raise InputError("--promote takes no PROVIDER, and without it one is needed", "name the provider to replicate")
    if arguments.promote:
        check_journal(arguments.into)
        _say_position(promote(arguments.into), 0, arguments.json)
        return Exit.DONE
    check_journal(arguments.provider)
    if arguments.into == Path("-"):
        if isinstance(arguments.provider, ServiceUrl):
            raise InputError("the log of a service is not printed", "name a folder: --into DIR")
        return _print_log(arguments.provider)
    with Replica.open(arguments.into, _provider(arguments)) as replica:
        _go_on(arguments, replica, lambda _: True)  # operators answer, and cut documents change, without a record
    return Exit.DONE


def _print_log(folder: Path) -> int:
    from triplecast.journal import JournalFile
    from triplecast.local.record_log import follow_records, id_at
    from triplecast.patch import write_patch

    with JournalFile.read_only(folder) as journal:
        for patch in follow_records(journal, 0, id_at(journal, 0), 0, 0):
            sys.stdout.buffer.write(write_patch(patch))
    return Exit.DONE


def collect(arguments: argparse.Namespace) -> int:
    from triplecast.journal import JournalFile
    from triplecast.local import collect_garbage, read_held

    check_journal(arguments.folder)
    with JournalFile.read_only(arguments.folder) as journal:
        held = read_held(journal)
    if not held.nodes:
        say(f"{arguments.folder} holds nothing of a provider")
    found = held.first_holders()
    for node in sorted(held.nodes):
        _print_holder(node, found.get(node), arguments.json)
    if not arguments.dry_run and len(found) < len(held.nodes):
        say(f"{count_of(len(collect_garbage(arguments.folder)), 'resource')} dropped")
    return Exit.DONE if held.nodes else Exit.NOTHING


def _print_holder(node: str, holder: Holder | None, as_json: bool) -> None:
    if as_json:
        path = list(holder.path) if holder else []
        print_json({"resource": node, "subscription": holder.subscription if holder else None, "path": path})
    elif holder is None:
        print_text(f"{node}  nothing holds it")
    else:
        through = "".join(f"  from {each}" for each in holder.path[-2:-1])
        print_text(f"{node}  {printable_name(holder.subscription)}{through}")


def _provider(arguments: argparse.Namespace) -> Path | HttpProvider:
    """Raises `InputError` for a folder that is none."""
    from triplecast.local import HttpProvider

    if isinstance(arguments.provider, ServiceUrl):
        return HttpProvider(arguments.provider, arguments.token)
    folder: Path = arguments.provider
    return folder


def _go_on(
    arguments: argparse.Namespace, follower: LocalRepository | Replica, is_behind: Callable[[int], bool]
) -> None:
    """Come to where the provider is, once or again and again, and print each position. A service that does not answer
    is asked again, unless it is once."""
    last, failing = -1, False
    while True:
        try:
            if last < 0 or is_behind(last):
                position = follower.sync()
                if position != last:
                    _say_position(position, follower.behind, arguments.json)
                    last = position
            failing = False
        except (EgressFailed, ServiceRefused) as error:
            if arguments.once or (isinstance(error, ServiceRefused) and error.status < 500 and error.status != 429):
                raise
            if not failing:
                say(f"{error}: it is asked again until it answers")
            failing = True
        if arguments.once:
            return
        sys.stdout.flush()
        sleep(LOOK_EVERY)


def _say_position(position: int, behind: int, as_json: bool) -> None:
    if as_json:
        print_json({"position": position, "behind": behind})
    else:
        print_text(f"position {position}" + (f", {behind} behind" if behind else ""))
