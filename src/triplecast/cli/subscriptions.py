"""`triplecast subscribe`, `unsubscribe`, `subscriptions` and `status`: who is registered in a folder.

They work while a run is live, through its control socket, and between runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import check_journal, is_new_journal, say_unknown
from triplecast.cli.operators import add_operators, say_faults
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import Exit, clip, count_of, print_json, print_text, say
from triplecast.errors import InputError
from triplecast.model.printable import printable_name
from triplecast.model.subscription import CHANGED, INITIAL, NOTIFY, PUBLICATION, SCOPES

if TYPE_CHECKING:
    from triplecast.model.subscription import Subscription
    from triplecast.registry.control_client import Ask
    from triplecast.registry.lines import LoadedSubscriptions

AT_ONCE = 1000
CHARACTERS_AT_ONCE = 1 << 20
"""Subscriptions, and characters of their fields, that one request registers in one step."""
REMOTE = ("subscribe", "unsubscribe", "subscriptions", "status")
"""Commands that a service answers too."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "subscribe",
        subscribe,
        "register subscriptions in a folder, also while `triplecast run` has it",
        "Register each subscription of FILE… in DIR until its lease ends, and print its id and its ticket. Those of "
        "the run's own subscription files and those registered here stand side by side; an id belongs to one of them. "
        "Exit code 1: some were refused.",
    )
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help="files or folders, as for `match`")
    parser.add_argument("--words", metavar="WORDS", help="in the place of FILE: words to look for; say the query made")
    parser.add_argument("--near", metavar="N", type=int, help="with at most N words between two of them")
    parser.add_argument("--in", dest="within", metavar="NAME", nargs="+", help="in values of these properties")
    parser.add_argument("--class", dest="of_class", metavar="NAME", help="of instances of this class (rss:item)")
    parser.add_argument("--id", help="the id, where FILE holds one subscription (its file name unless given)")
    parser.add_argument("--owner", help="who holds them, unless a .jsonl line says so")
    parser.add_argument("--lease", metavar="TIME", help='how long they live: 90s, 30m, 12h, 7d, "forever" (default 1d)')
    parser.add_argument("--language", choices=("sparql", "rdql", "rule"), help="whatever the extension says")
    parser.add_argument(
        "--scope", choices=SCOPES, help="what they are asked of: each publication, or all current documents together"
    )
    parser.add_argument(
        "--notify",
        choices=NOTIFY,
        help="what they are told: every matching version, what changed, or each new solution",
    )
    parser.add_argument("--initial", choices=INITIAL, help="repository scope: what is told of the present answer")
    parser.add_argument(
        "--key", metavar="NAME", nargs="+", help="variables by which rows removed and added are one updated"
    )
    add_operators(parser)
    parser = _command(
        commands,
        "unsubscribe",
        unsubscribe,
        "cancel a subscription of a folder",
        "Cancel the live subscription ID, or all of an owner.",
    )
    parser.add_argument("id", metavar="ID", nargs="?", help="as `triplecast subscribe` printed it")
    parser.add_argument("--owner", help="cancel all of this owner: those of a deleted local repository, say")
    parser.add_argument("--ticket", help="refuse unless this is its ticket")
    parser = _command(
        commands,
        "resync",
        resync,
        "have the present answer of a subscription told again",
        "Tell the live subscription ID of repository scope its present answer again, and print it. The notification "
        "says that it is present.",
    )
    parser.add_argument("id", metavar="ID", help="as `triplecast subscribe` printed it")
    parser.add_argument("--ticket", help="refuse unless this is its ticket")
    parser = _command(
        commands,
        "subscriptions",
        subscriptions,
        "list the live subscriptions of a folder",
        "List the live subscriptions of DIR by registration, one a line.",
    )
    parser.add_argument("--owner", help="only those of this owner")
    _command(
        commands,
        "status",
        status,
        "show how far a folder has come",
        "Print how many subscriptions of DIR are live, what is not matched yet, its last position and notification.",
    )


@contextmanager
def _asked(arguments: argparse.Namespace, open_folder: Callable[[Path], AbstractContextManager[Ask]]) -> Iterator[Ask]:
    """What answers requests about the folder, or at the service."""
    if isinstance(arguments.folder, ServiceUrl):
        from triplecast.cli.remote import open_service

        with open_service(arguments) as ask:
            yield ask
    else:
        with open_folder(arguments.folder) as ask:
            yield ask


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, run: Any, summary: str, text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=text)
    is_remote = name in REMOTE
    kind = folder_or_url if is_remote else Path
    parser.add_argument("folder", metavar="DIR", type=kind, help="the folder of a run or of Engine.open")
    parser.add_argument("--json", action="store_true", help="print JSON")
    if is_remote:
        add_service(parser)
    parser.set_defaults(run=run)
    return parser


def subscribe(arguments: argparse.Namespace) -> int:
    from triplecast.registry.control_client import open_requests
    from triplecast.registry.files import describe_unread, load_subscriptions
    from triplecast.registry.lines import SubscriptionFault

    if not arguments.files and arguments.words is None:
        raise InputError("there is nothing to subscribe to", "name files, or give --words")
    made = not isinstance(arguments.folder, ServiceUrl) and is_new_journal(arguments.folder)
    loaded = load_subscriptions(arguments.files) if arguments.words is None else _of_words(arguments)
    say_faults()
    if loaded.ignored:
        say(describe_unread(loaded.ignored))
    for fault in loaded.faults:
        say(str(fault))
    if arguments.id is not None and len(loaded.subscriptions) != 1:
        raise InputError(f"--id names one subscription, and there are {len(loaded.subscriptions)}", "leave it out")
    lease = arguments.lease
    if lease not in (None, "forever"):
        lease = read_seconds(lease, "a lease", ' or "forever"')
    registered, refused = 0, len(loaded.faults)
    with _asked(arguments, open_requests) as ask:
        if made:
            say(f"{arguments.folder} held no journal: a new one is made there")
        places = iter(loaded.places)
        for group in cut_groups(loaded.subscriptions):
            wanted = [_row(each, arguments) for each in group]
            outcomes: Any = ask({"request": "subscribe", "subscriptions": wanted, "lease": lease})["outcomes"]
            for outcome, place in zip(outcomes, places, strict=False):
                if "error" in outcome:
                    refused += 1
                    at = f"{outcome['line']}:{outcome['column']}" if outcome.get("line") else ""
                    error = outcome["error"].removeprefix(f"line {at}: ")
                    say(str(SubscriptionFault(f"{place}:{at}" if at else place, error, outcome["hint"])))
                    continue
                registered += 1
                if arguments.json:
                    print_json(outcome)
                else:
                    expires = f"until {outcome['expires']}" if outcome["expires"] else "without end"
                    print_text(f"{printable_name(outcome['id'])}  {expires}  ticket {outcome['ticket']}")
                for warning in outcome["warnings"]:
                    say(f"{place}: note: {warning}")
    if not registered:
        return Exit.FAILED
    return Exit.PARTLY if refused else Exit.DONE


def _of_words(arguments: argparse.Namespace) -> LoadedSubscriptions:
    """The subscription that words make; its query is said."""
    from triplecast.languages.keywords import Keywords, keywords_query
    from triplecast.model.subscription import Subscription
    from triplecast.registry.lines import LoadedSubscriptions

    if arguments.files or arguments.language:
        raise InputError("--words take the place of FILE and --language", "leave those out")
    wanted = Keywords(arguments.words, arguments.near, tuple(arguments.within or ()), arguments.of_class)
    text = keywords_query(wanted)
    say(text)
    return LoadedSubscriptions((Subscription(arguments.words, text),), ("--words",), ())


def cut_groups(subscriptions: Sequence[Subscription]) -> Iterator[list[Subscription]]:
    """In order, each small enough for one request."""
    group: list[Subscription] = []
    size = 0
    for each in subscriptions:
        characters = len(each.text) + len(each.name) + len(each.owner or "")
        if group and (len(group) == AT_ONCE or size + characters > CHARACTERS_AT_ONCE):
            yield group
            group, size = [], 0
        group.append(each)
        size += characters
    if group:
        yield group


def _row(subscription: Subscription, arguments: argparse.Namespace) -> dict[str, object]:
    row = {
        "id": arguments.id or subscription.name,
        "text": subscription.text,
        "language": arguments.language or subscription.language,
        "scope": arguments.scope or subscription.scope,
        "entailment": subscription.entailment,
        "owner": subscription.owner or arguments.owner,
        "notify": subscription.notify or arguments.notify,
        "initial": subscription.initial or arguments.initial,
        "key": [*subscription.key] or arguments.key,
    }
    return {name: value for name, value in row.items() if value is not None}


def read_seconds(text: str, what: str, more: str = "") -> float:
    """What `text` says, which may be `more`, too. Raises `InputError`."""
    try:
        return float(text[:-1]) * SECONDS[text[-1:]]
    except (KeyError, ValueError):
        raise InputError(f"{what} is not {text!r}", f"give 90s, 30m, 12h, 7d{more}") from None


def unsubscribe(arguments: argparse.Namespace) -> int:
    from triplecast.registry.control_client import open_requests

    check_journal(arguments.folder)
    if (arguments.id is None) == (arguments.owner is None):
        raise InputError("one subscription is cancelled, or all of an owner", "give its ID, or --owner alone")
    with _asked(arguments, open_requests) as ask:
        if arguments.owner is not None:
            return _say_ended(arguments, ask({"request": "unsubscribe", "owner": arguments.owner}))
        answer = ask({"request": "unsubscribe", "id": arguments.id, "ticket": arguments.ticket})
    if arguments.json:
        print_json({"id": arguments.id, **answer})
    else:
        print_text(f"{printable_name(arguments.id)} is cancelled")
    return Exit.DONE


def _say_ended(arguments: argparse.Namespace, answer: dict[str, Any]) -> int:
    for id in answer["ended"]:
        if arguments.json:
            print_json({"id": id})
        else:
            print_text(f"{printable_name(id)} is cancelled")
    if not answer["ended"]:
        say_unknown(arguments.folder, arguments.owner)
    return Exit.DONE if answer["ended"] else Exit.NOTHING


def resync(arguments: argparse.Namespace) -> int:
    from triplecast.cli.publish import open_engine, print_match
    from triplecast.model.operators import SCHEDULE

    check_journal(arguments.folder)
    with open_engine(arguments.folder, SCHEDULE, "end that process first") as engine:
        matches = engine.resync(arguments.id, arguments.ticket)
        for match in matches:
            print_match(match, arguments.json)
    if not matches:
        say(f"{printable_name(arguments.id)} is undecided: `triplecast notifications --undecided` says why")
    return Exit.DONE if matches else Exit.PARTLY


def subscriptions(arguments: argparse.Namespace) -> int:
    from triplecast.registry.control_client import open_reading

    check_journal(arguments.folder)
    after: Any = 0
    listed = 0
    with _asked(arguments, open_reading) as ask:
        while after is not None:
            answer: Any = ask({"request": "list", "owner": arguments.owner, "after": after})
            listed += len(answer["subscriptions"])
            for row in answer["subscriptions"]:
                if arguments.json:
                    print_json(row)
                else:
                    owner = f" owner {printable_name(row['owner'])}" if row["owner"] else ""
                    scope = "" if row["scope"] == PUBLICATION else f" scope {row['scope']}"
                    hears = "" if row["notify"] == CHANGED else f" notify {row['notify']}"
                    lease = f" until {row['expires']}" if row["expires"] else ""
                    text = " ".join(row["text"].split())
                    said = f"{row['source']}  {row['cost']}{scope}{hears}{owner}{lease}"
                    print_text(clip(f"{printable_name(row['id'])}  {said}  {text}"))
            after = answer["after"]
    if arguments.owner is not None and not listed:
        say_unknown(arguments.folder, arguments.owner)
    return Exit.DONE


def status(arguments: argparse.Namespace) -> int:
    from triplecast.registry.control_client import open_reading

    check_journal(arguments.folder)
    with _asked(arguments, open_reading) as ask:
        row: Any = ask({"request": "status"})
    if arguments.json:
        print_json(row)
    else:
        print_text(f"{count_of(row['subscriptions'], 'live subscription')}")
        print_text(f"{count_of(row['publications_left'], 'publication')} not matched yet")
        if row["settled"] < row["decided"]:
            print_text(f"from position {row['settled'] + 1} on, matches wait for operators")
        print_text(f"journal: position {row['position']}")
        print_text(f"last notification: {row['sequence']}")
    return Exit.DONE
