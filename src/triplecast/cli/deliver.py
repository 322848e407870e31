"""`triplecast deliver` and `targets`: notifications sent to where subscribers want them."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import check_journal
from triplecast.cli.operators import add_operators
from triplecast.cli.terminal import Exit, count_of, print_json, print_text, say
from triplecast.errors import InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.delivery.sending import MailServer
    from triplecast.egress import EgressRules

PASSWORD = "TRIPLECAST_SMTP_PASSWORD"
"""The environment variable with the password of the mail server: arguments are seen by all users of a machine."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "deliver",
        help="send the notifications of a folder to the targets of its subscriptions",
        description="Send what is recorded in DIR to webhooks, addresses of mail and commands, until interrupted. "
        "Another process may write DIR meanwhile.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of a run, of a service or of Engine.open")
    parser.add_argument("--once", action="store_true", help="send what is due, and end")
    add_delivery(parser)
    add_operators(parser)
    parser.set_defaults(run=deliver)
    parser = commands.add_parser(
        "targets",
        help="add, list, disable, enable and replay the targets of a folder's subscriptions",
        description="Change or list where notifications are sent: add a target to subscription NAME; remove, disable "
        "or enable target NAME; list the targets, or those of subscription NAME; list the dead letters, or those of "
        "target NAME; replay those of target NAME.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="as `triplecast deliver` takes it")
    parser.add_argument("action", choices=tuple(ACTIONS))
    parser.add_argument("name", metavar="NAME", nargs="?", help="the id of a subscription or of a target")
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--webhook", metavar="URL", help="add: send signed requests here")
    to.add_argument("--email", metavar="ADDRESS", help="add: send mail")
    to.add_argument(
        "--command",
        dest="argv",
        metavar="ARG",
        nargs=argparse.REMAINDER,
        help="add: run this for each; the last option",
    )
    parser.add_argument("--secret", metavar="WHSEC", help="add: sign requests with this; default: a new one")
    parser.add_argument("--every", metavar="SECONDS", type=float, help="add: at least this between two mails")
    parser.add_argument("--from-start", action="store_true", help="add: send what is recorded already, too")
    parser.add_argument("--sequence", metavar="N", type=int, help="replay: only the notification of this sequence")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(run=targets)


def add_delivery(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where notifications may go."""
    parser.add_argument("--private", action="store_true", help="send to this machine and private networks too")
    parser.add_argument("--webhook-port", metavar="N", type=int, action="append", help="send to this port too")
    parser.add_argument("--smtp", metavar="URL", help="hand mail in here: smtp://host:587, smtps://host:465")
    parser.add_argument("--smtp-user", metavar="NAME", help=f"log in there; the password is in {PASSWORD}")
    parser.add_argument("--mail-from", metavar="ADDRESS", help="the address that mail comes from")


def read_rules(arguments: argparse.Namespace) -> tuple[EgressRules, MailServer | None]:
    """What the options of `add_delivery` say. Raises `InputError`."""
    from triplecast.delivery.sending import read_mail_server
    from triplecast.egress import EgressRules

    password = os.environ.get(PASSWORD, "")
    mail = read_mail_server(arguments.smtp, arguments.mail_from, arguments.smtp_user, password)
    return EgressRules(arguments.private, EgressRules().ports | {*(arguments.webhook_port or ())}), mail


def deliver(arguments: argparse.Namespace) -> int:
    from triplecast.delivery.opening import open_runner
    from triplecast.delivery.sending import ways_of
    from triplecast.egress import Egress

    check_journal(arguments.folder)
    rules, mail = read_rules(arguments)
    egress = Egress(rules)
    with open_runner(arguments.folder, egress, ways_of(egress.send, mail, commands=True)) as (runner, _):
        if arguments.once:
            runner.run_once()
            return Exit.DONE
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        runner.start()
        try:
            while runner.is_running:
                time.sleep(0.2)
        except KeyboardInterrupt:
            say("stopping: what is under way is ended first")
        runner.stop()
    return Exit.DONE


def targets(arguments: argparse.Namespace) -> int:
    from triplecast.delivery.opening import open_targets

    check_journal(arguments.folder)
    if arguments.name is None and arguments.action not in ("list", "dead"):
        raise InputError(f"`targets DIR {arguments.action}` needs a NAME", "give the id of a subscription or a target")
    with open_targets(arguments.folder) as ask:
        return ACTIONS[arguments.action](arguments, ask)


def _add(arguments: argparse.Namespace, ask: Any) -> int:
    given = {"webhook": arguments.webhook, "email": arguments.email, "command": arguments.argv}
    given |= {"secret": arguments.secret, "every": arguments.every}
    delivery = {name: value for name, value in given.items() if value is not None}
    since = {"since": "start"} if arguments.from_start else {}
    answer = ask({"request": "add", "subscription": arguments.name, "delivery": delivery, **since})
    if arguments.json:
        print_json(answer)
    else:
        print_text(_line(answer) + (f"  secret {answer['secret']}" if "secret" in answer else ""))
    return Exit.DONE


def _list(arguments: argparse.Namespace, ask: Any) -> int:
    for each in ask({"request": "list", "subscription": arguments.name})["targets"]:
        _print(each, _line(each), arguments.json)
    return Exit.DONE


def _change(arguments: argparse.Namespace, ask: Any) -> int:
    answer = ask({"request": arguments.action, "target": arguments.name})
    _print(answer, _line(answer) if answer else f"{arguments.name} is removed", arguments.json)
    return Exit.DONE


def _dead(arguments: argparse.Namespace, ask: Any) -> int:
    for each in ask({"request": "dead", "target": arguments.name})["dead"]:
        again = "  is replayed" if each["again"] else ""
        _print(each, f"{each['target']}  {each['sequence']}  {each['id']}  {each['reason']}{again}", arguments.json)
    return Exit.DONE


def _replay(arguments: argparse.Namespace, ask: Any) -> int:
    answer = ask({"request": "replay", "target": arguments.name, "sequence": arguments.sequence})
    _print(answer, f"{count_of(answer['replayed'], 'dead letter')} to be delivered again", arguments.json)
    return Exit.DONE if answer["replayed"] else Exit.NOTHING


ACTIONS = {
    "add": _add,
    "list": _list,
    "remove": _change,
    "disable": _change,
    "enable": _change,
    "dead": _dead,
    "replay": _replay,
}


def _line(target: dict[str, Any]) -> str:
    to = target["to"] if isinstance(target["to"], str) else " ".join(target["to"])
    said = f"{target['target']}  {printable_name(target['subscription'])}  {target['kind']} {to}"
    said += f"  {target['delivered']} delivered"
    if target["disabled"]:
        return f"{said}  disabled: {target['disabled']}"
    return said + (
        f"  {count_of(target['attempts'], 'attempt')} in vain: {target['last_error']}" * bool(target["attempts"])
    )


def _print(row: dict[str, Any], line: str, as_json: bool) -> None:
    if as_json:
        print_json(row)
    else:
        print_text(line)
