"""The provider that is a service: what a local repository and a replica ask of it, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyoxigraph import RdfFormat, parse

from triplecast.engine import Subscribed
from triplecast.errors import InputError, ServiceRefused, StorageFault
from triplecast.local.closure import Node
from triplecast.local.record_log import LogGap
from triplecast.model.extras import how_to_install
from triplecast.model.subscription import Subscription
from triplecast.outbox import UndecidedPair
from triplecast.registry.lines import SubscriptionFault, subscription_of
from triplecast.registry.registry import Refusal
from triplecast.registry.requests import outcome_of
from triplecast.repository import QUERY_STEPS, QueryAnswer

if TYPE_CHECKING:
    from triplecast.client.log_client import LogClient

_GONE = 410


class HttpProvider:
    """A service that has the provider's folder. Methods raise `ServiceRefused`, `EgressFailed` without an answer, and
    `StorageFault` for one that is none of a service's.

    A log may end before the provider's position: whoever reads it asks again from where it came to.
    """

    def __init__(self, url: str, token: str | None = None, client: LogClient | None = None) -> None:
        """`token`: as `client.calls.own_token` takes it. Raises `InputError` where httpx is not installed."""
        self.place = url.rstrip("/")
        self._client = client or connect(self.place, token)

    def position(self) -> int:
        with self._read():
            return int(self._client.rows("log")["position"])

    def changes(self, owner: str, after: int, id: str) -> Iterator[bytes]:
        with self._read():
            yield from self._client.log("log", owner, after=after, id=id)

    def snapshot(self, owner: str, buckets: Collection[int] | None = None) -> bytes:
        with self._read():
            return self._client.snapshot(owner, buckets)

    def digests(self, owner: str) -> str:
        with self._read():
            return str(self._client.rows("digests", owner)["digests"])

    def records(self, after: int, id: str, settled: int, parts: int) -> Iterator[bytes]:
        with self._read():
            yield from self._client.log("log/records", after=after, id=id, settled=settled, parts=parts)

    def subscribe(
        self, owner: str, subscriptions: Sequence[Subscription], ended: Sequence[str]
    ) -> list[Subscribed | Refusal]:
        """Asked once: after `EgressFailed`, `subscriptions` says whether it was done."""
        start = len(owner) + 1
        rows = [
            {"id": each.name[start:], "text": each.text, "language": each.language, "entailment": each.entailment}
            for each in subscriptions
        ]
        with self._read():
            outcomes = self._client.replace(owner, rows, [name[start:] for name in ended])
            return [
                outcome_of(each if "error" in each else {**each, "id": f"{owner}/{each['id']}"}) for each in outcomes
            ]

    def subscriptions(self, owner: str) -> list[Subscription]:
        with self._read():
            return [_subscription(row, owner) for row in self._client.rows("subscriptions", owner)["subscriptions"]]

    def undecided(self, owner: str, after: int) -> list[UndecidedPair]:
        with self._read():
            return [UndecidedPair(**row) for row in self._client.rows("undecided", owner, after=after)["undecided"]]

    def query(self, text: str, steps: int = QUERY_STEPS) -> QueryAnswer:
        """The service has a limit of its own, in the place of `steps`."""
        with self._read():
            media_type, body = self._client.query(text)
            return _triples(body) if media_type == "application/n-triples" else _solutions(json.loads(body))

    def describe(self, node: Node) -> Sequence[bytes]:
        with self._read():
            return self._client.describe(node[1:-1]).splitlines(keepends=True)

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except ServiceRefused as error:
            if error.status == _GONE:
                raise LogGap from None
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            found = f"its answer cannot be read: {type(error).__name__} {error}"
            raise StorageFault(self.place, found, "see whether a Triplecast of this version answers there") from None


def is_url(place: object) -> bool:
    return isinstance(place, str) and place.startswith(("http://", "https://"))


def connect(url: str, token: str | None) -> LogClient:
    """As `HttpProvider` has it."""
    try:
        from triplecast.client.calls import own_token
        from triplecast.client.log_client import LogClient
    except ImportError:
        raise InputError(f"to ask {url} needs httpx", how_to_install("client")) from None
    return LogClient(url, own_token(token))


def _subscription(row: dict[str, Any], owner: str) -> Subscription:
    found = subscription_of({**row, "id": f"{owner}/{row['id']}", "owner": owner}, "the answer")
    if isinstance(found, SubscriptionFault):
        raise ValueError(found.reason)
    return found


def _solutions(row: Any) -> QueryAnswer:
    """The answer to SELECT or ASK in SPARQL results JSON."""
    from triplecast.client.answers import term_of

    if "boolean" in row:
        return QueryAnswer("ask", (), (), (), bool(row["boolean"]))
    names, bindings = tuple(row["head"]["vars"]), row["results"]["bindings"]
    rows = tuple(tuple(term_of(each[name]) if name in each else None for name in names) for each in bindings)
    return QueryAnswer("select", names, rows, (), bool(rows))


def _triples(body: bytes) -> QueryAnswer:
    found = [quad.triple for quad in parse(body, format=RdfFormat.N_TRIPLES)]
    graph: Any = tuple((each.subject, each.predicate, each.object) for each in found)
    return QueryAnswer("construct", (), (), graph, bool(graph))
