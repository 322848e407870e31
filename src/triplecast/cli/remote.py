"""What commands with `--url` ask of a service, so that they print what they print of a folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from triplecast.cli.inputs import say_unknown
from triplecast.cli.terminal import describe_answer, describe_match, describe_notification, print_json, print_text, say
from triplecast.errors import InputError, QuerySyntaxError, ServiceRefused
from triplecast.model.extras import how_to_install
from triplecast.model.operators import SCHEDULE
from triplecast.model.printable import printable_name
from triplecast.model.publication import Reject

if TYPE_CHECKING:
    from triplecast.client import Client, RemoteNotification, RemoteReceipt
    from triplecast.explain import Explanation
    from triplecast.ingest import Document
    from triplecast.model.subscription import Subscription
    from triplecast.registry.control_client import Ask

PAGE = 1000
"""Subscriptions of one answer."""
Counts = tuple[int, int, int, int, int, int]
"""Publications accepted and unchanged, removals, matches, pairs undecided and pending."""
_ROWS = ("answer", "removed", "changed", "updated", "graph")
_MATCH = ("publication", "version", "subscription", "change", "id")
_REGISTERED = ("id", "registration", "ticket", "cost", "warnings", "expires")


@contextmanager
def open_client(arguments: argparse.Namespace) -> Iterator[Client]:
    """The client of the service that `--url` names."""
    try:
        from triplecast.client import Client
        from triplecast.client.calls import own_token
    except ImportError:
        raise InputError("--url needs httpx", how_to_install("client")) from None
    url = arguments.folder if arguments.takes_url else arguments.url
    with Client(url, own_token(arguments.token)) as client:
        yield client


# ---- subscriptions --------------------------------------------------------------------------------------------------


@contextmanager
def open_service(arguments: argparse.Namespace) -> Iterator[Ask]:
    """A function that answers those requests of the control socket that a service answers too."""
    with open_client(arguments) as client:
        yield lambda request: _REQUESTS[str(request["request"])](client, request)


def _subscribe(client: Client, request: Mapping[str, Any]) -> dict[str, object]:
    return {"outcomes": [_registered(client, each, request["lease"]) for each in request["subscriptions"]]}


def _registered(client: Client, wanted: Mapping[str, Any], lease: Any) -> dict[str, object]:
    """What became of one. Raises `ServiceRefused` where none can be registered now."""
    options = {name: value for name, value in wanted.items() if name != "text" and value != ""}
    try:
        found = client.subscribe(wanted["text"], lease=lease, **options)
    except ServiceRefused as error:
        if error.status in (401, 429) or error.status >= 500:
            raise
        return _refusal(error, wanted["text"])
    return {name: {**found.row, "ticket": found.ticket}[name] for name in _REGISTERED} | {"matches": []}


def _refusal(error: ServiceRefused, text: str) -> dict[str, object]:
    problem = error.problem
    line, column, what = problem.get("line"), problem.get("column"), str(problem.get("detail") or error.what)
    hint = error.mend
    if error.status == 400 and line is not None and column is not None:
        advice, wanted, names = hint.rpartition("expected: ") if "expected: " in hint else (hint, "", "")
        what, hint = "; ".join(filter(None, (what, advice.removesuffix("; ")))), wanted + names
        shown = text.split("\n")[line - 1 : line]
        what = str(QuerySyntaxError(what, line, column, (), "".join(shown)))
    return {"error": what, "hint": hint, "line": line, "column": column}


def _unsubscribe(client: Client, request: Mapping[str, Any]) -> dict[str, object]:
    if "owner" in request:
        ended = [each.id for each in client.subscriptions(request["owner"])]
        for id in ended:
            client.unsubscribe(id)
        return {"ended": ended}
    try:
        return {"position": client.unsubscribe(request["id"], request["ticket"])}
    except ServiceRefused as error:
        if error.status == 400 and request["ticket"] is None:
            raise InputError(error.what, "give --ticket, as `triplecast subscribe` printed it") from None
        raise


def _list(client: Client, request: Mapping[str, Any]) -> dict[str, object]:
    rows = [each.row for each in islice(client.subscriptions(request["owner"], request["after"]), PAGE)]
    return {"subscriptions": rows, "after": rows[-1]["registration"] if len(rows) == PAGE else None}


_REQUESTS: Mapping[str, Callable[[Client, Mapping[str, Any]], dict[str, object]]] = {
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
    "list": _list,
    "status": lambda client, _: client.status(),
}


# ---- publishing -----------------------------------------------------------------------------------------------------


def publish(arguments: argparse.Namespace, documents: Iterable[Document | Reject]) -> Iterator[Reject | Counts]:
    """Publish documents one by one, and print what of their matches the token may read; yield what became of them."""
    from triplecast.ingest import Document

    if arguments.dataset or arguments.split or arguments.operators or arguments.schedule != SCHEDULE:
        raise InputError("a service cuts no documents, and has operators of its own", "leave these options out")
    with open_client(arguments) as client:
        matches = _PrintedMatches(client, arguments.json)
        for each in documents:
            if not isinstance(each, Document):
                yield each
                continue
            try:
                receipt = client.publish(each.data, *_named(each))
            except ServiceRefused as error:
                if error.status not in (413, 415, 422):
                    raise
                yield from _rejects(each, error.problem.get("rejects") or [_whole(error)])
                continue
            if receipt.matches:
                last = receipt.position or 0  # a document's positions follow each other
                first = min((row["position"] for row in receipt.publications), default=last) - receipt.removals
                matches.print_those(range(first, last + 1))
            yield from _rejects(each, receipt.rejects)
            yield _counts(each, receipt)


def _named(document: Document) -> tuple[str, str | None]:
    """The media type of a document, and the graph that it is put in; a feed names itself."""
    from triplecast.ingest.document import document_iri
    from triplecast.ingest.media_types import ATOM, JSON_LD, RSS, XML, decide_type

    media_type, charset = decide_type(document.media_type, document.source, document.data)
    start = document.data[:4096]
    is_feed = media_type in (ATOM, RSS) or (media_type == XML and (b"<rss" in start or b"<feed" in start))
    is_feed = is_feed or (media_type == JSON_LD and b"jsonfeed.org/version" in start)
    graph = document.graph if is_feed else document_iri(document)
    return (document.media_type or media_type) if charset is None else f"{media_type}; charset={charset}", graph


def _whole(error: ServiceRefused) -> Mapping[str, Any]:
    return {"stage": "gate", "reason": error.what, "hint": error.mend}


def _rejects(document: Document, rows: Iterable[Mapping[str, Any]]) -> Iterator[Reject]:
    for row in rows:
        yield Reject(document.source, row["stage"], row["reason"], row["hint"], row.get("line"), row.get("column"))


def _counts(document: Document, receipt: RemoteReceipt) -> Counts:
    accepted = sum(each["outcome"] == "accepted" for each in receipt.publications)
    source = printable_name(document.source)
    if receipt.undecided or receipt.pending:
        say(f"{source}: {receipt.undecided} undecided, {receipt.pending} waiting for operators")
    if not receipt.matched:
        say(f"{source}: note: it is matched later")
    for warning in receipt.warnings:
        say(f"{source}: note: {warning}")
    unchanged = len(receipt.publications) - accepted
    return accepted, unchanged, receipt.removals, receipt.matches, receipt.undecided, receipt.pending


class _PrintedMatches:
    """Prints what documents match, from the notifications recorded meanwhile, as far as the token may read them."""

    def __init__(self, client: Client, as_json: bool) -> None:
        self._client = client
        self._json = as_json
        self._place: str | None = "now"
        self.print_those(range(0))

    def print_those(self, positions: range) -> None:
        """Those of documents that were published at these positions of the journal."""
        if self._place is None:
            return
        try:
            for page in self._client.pages(self._place):
                for each in page.notifications:
                    if each.row["position"] in positions:
                        _print_match(each, self._json)
                self._place = page.cursor
        except ServiceRefused as error:
            if error.status != 403:
                raise
            self._place = None
            say("the token may not read notifications, so matches are counted only")


def _print_match(found: RemoteNotification, as_json: bool) -> None:
    if as_json:
        print_json({name: found.row[name] for name in (*_MATCH, *_ROWS) if name in found.row})
    else:
        print_text(describe_match(found.publication, found.version, found.subscription, _firsts(found)))


# ---- notifications --------------------------------------------------------------------------------------------------


def print_notifications(arguments: argparse.Namespace) -> bool:
    """Print what there is, and with ``--follow`` what comes; return whether there was something."""
    printed = False
    with open_client(arguments) as client:
        read = client.follow if arguments.follow else client.notifications
        try:
            for each in read(arguments.since, arguments.subscription, arguments.owner):
                if arguments.json:
                    print_json(each.row)
                else:
                    told = (each.sequence, each.publication, each.version, each.subscription)
                    print_text(describe_notification(*told, _firsts(each)))
                printed = True
                if arguments.follow:
                    sys.stdout.flush()
        except ServiceRefused as error:
            if error.status != 404:
                raise
            say(f"{error.what}; `triplecast subscriptions` lists ids")  # nobody ever had it
            return printed
    if not printed and (arguments.subscription or arguments.owner):
        say_unknown(arguments.folder, arguments.owner, arguments.subscription)
    return printed


def _firsts(found: RemoteNotification) -> list[tuple[str, int]]:
    """What a line shows of the rows (`results.first_rows`)."""
    from triplecast.results import RecordedRows, first_rows, seen_head

    added, removed, changed = ([*map(_texts, rows)] for rows in (found.added, found.removed, found.changed))
    updated = [(_texts(before), _texts(after)) for before, after in found.updated]
    rows = RecordedRows(added, removed, updated, changed)
    names = found.row.get("answer", {}).get("head", {}).get("vars") or seen_head(rows.every).variables
    return first_rows(rows, names, found.change)


def _texts(solution: Mapping[str, object]) -> dict[str, str]:
    return {name: str(term) for name, term in solution.items()}


# ---- explaining and previewing --------------------------------------------------------------------------------------


def explain(arguments: argparse.Namespace) -> list[Explanation]:
    """What a service says of a document and of the subscription with an id. Raises `InputError`."""
    from triplecast.explain.explanation import read_explanation
    from triplecast.ingest import Document
    from triplecast.ingest.document_files import read_documents

    documents = [each for each in read_documents([arguments.publication]) if isinstance(each, Document)]
    if len(documents) != 1:
        raise InputError(f"a service explains one document, and there are {len(documents)}", "name its file")
    named = dict(zip(("media_type", "graph"), _named(documents[0]), strict=True))
    with open_client(arguments) as client:
        rows = client.explain(documents[0].data, str(arguments.subscription), arguments.ticket, **named)
    return [read_explanation(json.dumps(row).encode()) for row in rows]


def preview(arguments: argparse.Namespace, subscription: Subscription) -> tuple[dict[str, Any], list[str]]:
    """What a service says a subscription would have matched, and lines that show the first of it."""
    from triplecast.client import RemoteNotification

    options = {"language": subscription.language, "entailment": subscription.entailment}
    with open_client(arguments) as client:
        row = client.preview(subscription.text, arguments.last, **options)
    lines = []
    for each in row["examples"]:
        found = RemoteNotification(each, 0, "", "", "added", each["publication"], each["version"], subscription.name)
        lines.append(f"{found.publication}  {describe_answer(_firsts(found))}")
    return row, lines
