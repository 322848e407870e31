"""`triplecast sources` and `poll`: addresses that are asked again and again, and what they bring."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from triplecast.cli.inputs import check_journal, is_new_journal
from triplecast.cli.service_url import ServiceUrl, add_service, folder_or_url
from triplecast.cli.terminal import Exit, count_of, exit_of, print_json, print_text, say
from triplecast.errors import FolderLocked, InputError
from triplecast.model.printable import printable_name

if TYPE_CHECKING:
    from triplecast.cli.remote_sources import RemoteSources
    from triplecast.sources import Polled, Poller, SourceList

    Sources: TypeAlias = SourceList | RemoteSources

ACTIONS = ("list", "add", "remove", "check", "held", "release", "import", "export", "provenance")
_ALONE = ("list", "export")
_NEEDED = {"import": "FILE.opml", "provenance": "GRAPH"}
"""What an action is done with, of those for which it is no URL."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "sources",
        help="list, add and remove the sources of a folder",
        description="Keep the sources of DIR, also while another process polls them: add or remove URL…, list them, "
        "check URL… now, show what of URL is held or release it, import FILE.opml, export OPML, show the provenance of "
        "the publication GRAPH.",
    )
    parser.add_argument("folder", metavar="DIR", type=folder_or_url, help="the folder, which is made if it is missing")
    parser.add_argument("action", metavar="ACTION", nargs="?", choices=ACTIONS, default="list", help=", ".join(ACTIONS))
    parser.add_argument("what", metavar="WHAT", nargs="*", help="URL…, FILE.opml or GRAPH")
    parser.add_argument("--title", default="", help="what to call a source that is added")
    parser.add_argument("--folder", dest="outline", metavar="NAME", nargs="+", help="the outline's folder from its top")
    parser.add_argument("--split", metavar="CLASS", help="cut its documents, as `triplecast publish` does")
    parser.add_argument("--identity", default="guid", choices=("guid", "link", "content"), help="how an item is known")
    parser.add_argument("--dry-run", action="store_true", help="import nothing, and say what would be")
    _add_asking(parser)
    add_service(parser)
    parser.set_defaults(run=run, every="15m", at_most="1d")
    parser = commands.add_parser(
        "poll",
        help="ask the sources of a folder, and publish what they bring",
        description="Ask each source of DIR when it is to be asked, until interrupted, and print a line per check. "
        "`triplecast notifications DIR` lists what matched.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder, which no other process may have open")
    parser.add_argument("--once", action="store_true", help="ask those that are to be asked now, and end")
    parser.add_argument("--every", metavar="TIME", default="15m", help="shortest time between two checks (15m)")
    parser.add_argument("--at-most", metavar="TIME", default="1d", help="longest time between two checks (1d)")
    _add_asking(parser)
    parser.set_defaults(run=poll)


def _add_asking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--private", action="store_true", help="ask this machine and private networks too")
    parser.add_argument("--source-port", metavar="N", type=int, action="append", help="ask this port too")
    parser.add_argument("--contact", metavar="URL", help="an address that publishers see who asks them")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(arguments: argparse.Namespace) -> int:
    from triplecast.journal import Journal
    from triplecast.sources import SourceList
    from triplecast.storage_faults import make_folder

    if bool(arguments.what) == (arguments.action in _ALONE):
        needed = _NEEDED.get(arguments.action, "URL")
        wrong = "takes nothing else" if arguments.what else f"needs {needed}"
        raise InputError(f"`sources {arguments.action}` {wrong}", "see `triplecast sources --help`")
    if isinstance(arguments.folder, ServiceUrl):
        from triplecast.cli.remote import open_client
        from triplecast.cli.remote_sources import RemoteSources

        with open_client(arguments) as client:
            return _ACTIONS[arguments.action](RemoteSources(client), arguments)
    if is_new_journal(arguments.folder) and not arguments.dry_run:
        if arguments.action not in ("add", "import"):
            raise InputError(f"{arguments.folder} holds no journal", "name the folder of Engine.open, or add a source")
        make_folder(arguments.folder)
        Journal.open(arguments.folder).close()
        say(f"{arguments.folder} held no journal: a new one is made there")
    sources = SourceList(arguments.folder)
    return _ACTIONS[arguments.action](sources, arguments)


def _list(sources: Sources, arguments: argparse.Namespace) -> int:
    for row in sources.rows():
        if arguments.json:
            print_json(row)
        else:
            print_text(_line_of(row))
    return Exit.DONE


def _add(sources: Sources, arguments: argparse.Namespace) -> int:
    from triplecast.sources import NewSource

    folders = (tuple(arguments.outline),) if arguments.outline else ()
    wanted = [NewSource(url, arguments.title, folders, arguments.split, arguments.identity) for url in arguments.what]
    _say_added(sources.add(wanted, _now()), arguments.json)
    return Exit.DONE


def _say_added(outcomes: list[tuple[str, bool]], as_json: bool) -> None:
    for url, is_new in outcomes:
        if as_json:
            print_json({"url": url, "added": is_new})
        else:
            print_text(f"{url}  {'added' if is_new else 'is there already'}")


def _remove(sources: Sources, arguments: argparse.Namespace) -> int:
    for url in arguments.what:
        sources.remove(url)
        print_text(f"{url}  removed; what it brought stays published")
    return Exit.DONE


def _check(sources: Sources, arguments: argparse.Namespace) -> int:
    for url in arguments.what:
        sources.check(url, _now())
    return _ask_now(sources, arguments)


def _held(sources: Sources, arguments: argparse.Namespace) -> int:
    for url in arguments.what:
        held = sources.held(sources.named(url))
        for graph in held:
            print_text(graph)
        if not held:
            say(f"{url}: nothing is held")
    return Exit.DONE


def _release(sources: Sources, arguments: argparse.Namespace) -> int:
    for url in arguments.what:
        say(f"{url}: {count_of(sources.release(url, _now()), 'publication')} released")
    return _ask_now(sources, arguments)


def _ask_now(sources: Sources, arguments: argparse.Namespace) -> int:
    """Ask sources, or leave it to the process that has the folder."""
    if isinstance(arguments.folder, ServiceUrl):
        return Exit.DONE
    urls = [sources.named(url).url for url in arguments.what]
    try:
        with _open_poller(arguments) as poller:
            return _exit_of(poller.poll(urls, lambda polled: _print(polled, arguments.json)))
    except FolderLocked as locked:
        say(f"{locked.folder} is in use by {locked.holder}, which asks them if it polls")
        return Exit.DONE


def _import(sources: Sources, arguments: argparse.Namespace) -> int:
    from triplecast.sources import read_opml

    code = Exit.DONE
    for name in arguments.what:
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise InputError(f"{printable_name(name)} cannot be read: {error.strerror}", "name an OPML file") from error
        try:
            outline = read_opml(data)
        except InputError as error:
            raise InputError(f"{printable_name(name)}: {error.what}", error.hint) from error
        for fault in outline.faults:
            say(f"{printable_name(name)}: {printable_name(fault)}")
        there = {row["url"] for row in sources.rows()}
        found = [(each.url, each.url not in there) for each in outline.sources]
        _say_added(found if arguments.dry_run else sources.add(outline.sources, _now()), arguments.json)
        new = sum(is_new for _, is_new in found)
        said = "to add" if arguments.dry_run else "added"
        say(f"{new} {said}, {len(found) - new} there already, {outline.repeated} repeated, {len(outline.faults)} wrong")
        code = Exit.PARTLY if outline.faults else code
    return code


def _export(sources: Sources, arguments: argparse.Namespace) -> int:
    sys.stdout.flush()
    sys.stdout.buffer.write(sources.export())
    return Exit.DONE


def _provenance(sources: Sources, arguments: argparse.Namespace) -> int:
    found = [each for graph in arguments.what for each in sources.provenance(graph)]
    for each in found:
        if arguments.json:
            print_json(each._asdict())
        else:
            parts = (f"{each.graph} v{each.version}", f"from {each.source}", f"at {each.address}", each.fetched_at)
            print_text("  ".join(map(printable_name, filter(None, (*parts, each.etag or each.last_modified)))))
    if not found:
        say(f"no source has brought {', '.join(arguments.what)}")
    return Exit.DONE if found else Exit.NOTHING


_ACTIONS = {
    "list": _list,
    "add": _add,
    "remove": _remove,
    "check": _check,
    "held": _held,
    "release": _release,
    "import": _import,
    "export": _export,
    "provenance": _provenance,
}


def poll(arguments: argparse.Namespace) -> int:
    from time import sleep

    from triplecast.sources.polling import LOOK_EVERY

    check_journal(arguments.folder)
    with _open_poller(arguments) as poller:
        if not poller.sources.sources():
            say(f"{arguments.folder} has no source: add one with `triplecast sources {arguments.folder} add URL`")
        if arguments.once:
            polled = poller.poll(tell=lambda each: _print(each, arguments.json))
            waiting = [source.next_check for source in poller.sources.sources() if not source.gone]
            if waiting and not polled:
                say(
                    f"nothing is to be asked before {_shown(min(waiting))}; `triplecast sources DIR check URL` asks now"
                )
            return _exit_of(polled)
        poller.start(lambda each: _print(each, arguments.json))
        while poller.fault is None:
            sleep(LOOK_EVERY)
        raise poller.fault


@contextmanager
def _open_poller(arguments: argparse.Namespace) -> Iterator[Poller]:
    """Raises `FolderLocked` where another process has the folder."""
    from triplecast.cli.publish import open_engine
    from triplecast.cli.subscriptions import read_seconds
    from triplecast.egress import AGENT, Egress, EgressRules
    from triplecast.model.operators import SCHEDULE
    from triplecast.sources import Poller
    from triplecast.sources.schedule import Bounds

    bounds = Bounds(*(read_seconds(each, "a time") for each in (arguments.every, arguments.at_most)))
    if not 0 < bounds.least <= bounds.most:
        raise InputError("the shortest time between two checks exceeds the longest", "give --every 15m --at-most 1d")
    agent = f"{AGENT} (+{arguments.contact})" if arguments.contact else AGENT
    ports = EgressRules().ports | {*(arguments.source_port or ())}
    rules = EgressRules(arguments.private, ports, "--source-port")
    with (
        open_engine(arguments.folder, SCHEDULE, "a server polls its sources by itself; end a run first") as engine,
        closing(Poller(engine, arguments.folder, Egress(rules).send, bounds=bounds, agent=agent)) as poller,
    ):
        yield poller


def _print(polled: Polled, as_json: bool) -> None:
    if as_json:
        print_json(asdict(polled) | {"next_check": _shown(polled.next_check)})
    else:
        found = (("new", polled.new), ("edited", polled.edited), ("removed", polled.removed), ("held", polled.withheld))
        counts = ", ".join(f"{count} {name}" for name, count in found if count) or "nothing new"
        outcome = "failed" if polled.failed else counts
        error = f"  {printable_name(polled.error)}" if polled.error else ""
        print_text(f"{polled.url}  {outcome}  next check {_shown(polled.next_check)}{error}")
    sys.stdout.flush()


def _exit_of(polled: list[Polled]) -> int:
    if polled and all(each.failed for each in polled):
        return Exit.FAILED
    found = any(each.new or each.edited or each.removed for each in polled)
    return exit_of(found, any(each.error for each in polled))


def _line_of(row: Mapping[str, Any]) -> str:
    folders = "; ".join("/".join(names) for names in row["folders"])
    parts = [row["url"], row["title"], folders and f"in {folders}", row["kind"]]
    parts.append("gone" if row["gone"] else f"next check {row['next_check']}")
    parts.append(f"last change {row['last_change']}" if row["last_change"] else "")
    parts.append(f"moved to {row['location']}" if row["location"] != row["url"] else "")
    parts.append(f"{count_of(row['failures'], 'failure')} in a row" if row["failures"] else "")
    parts.append(f"{row['held']} held" if row["held"] else "")
    return "  ".join(printable_name(part) for part in (*parts, row["error"]) if part)


def _shown(at: int) -> str | None:
    from triplecast.sources.source import shown_time

    return shown_time(at)


def _now() -> int:
    from triplecast.journal import read_clock, system_clock

    return read_clock(system_clock)
