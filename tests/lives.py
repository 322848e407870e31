"""What a process does that is killed again and again (`tests.kills`), and what must be there afterwards.

`Ledger` is the slow reader of an engine's folder: it works out, call by call, what each must answer and which records,
subscriptions, leases and notifications there are then. It knows nothing of journals and indexes but their promises:
positions without gaps, ids that are never used again, leases that end before whatever happens after them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from triplecast import FOREVER, Engine, InputError, Subscription
from triplecast.ingest import Document, ParsedDocument
from triplecast.ingest.messages import pack_document, unpack_parsed
from triplecast.ingest.worker import answer
from triplecast.journal import Journal, time_text
from triplecast.outbox import Outbox
from triplecast.registry.tickets import hash_ticket, make_tickets

E = "https://example.org/"
BEGIN = 1_800_000_000_000_000
SECOND = 1_000_000
KINDS = 6
"""Of subscriptions: one of kind k wants the predicate p<k>."""
NAMES = 14
"""Under which subscriptions come and go."""
VERBS = ("subscribe", "subscribe", "subscribe_many", "renew", "cancel", "cancel", "publish", "publish", "prune")


class Call(NamedTuple):
    """A call of an engine's method."""

    number: int
    """Of the folder's calls; the randomness of its tickets."""
    at: int
    """What the clock says meanwhile, in microseconds."""
    verb: str
    names: tuple[str, ...] = ()
    kinds: tuple[int, ...] = ()
    """Those of the subscriptions, or those that the publication matches."""
    seconds: int | None = None
    """Of the lease."""
    sequence: int = 0


@dataclass
class Held:
    """A live subscription."""

    id: int
    kind: int
    ticket: str
    end: int | None


@dataclass
class Ledger:
    """What a folder must hold; `do` is told each call that was acknowledged, in order."""

    head: int = 0
    """Position of the last record."""
    called: int = 0
    at: int = BEGIN
    live: dict[str, Held] = field(default_factory=dict)
    taken: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    """Every registration there ever was: name, kind and ticket."""
    ended: dict[int, int] = field(default_factory=dict)
    """Registrations that are live no more, and the positions that say so."""
    rows: list[tuple[str, int]] = field(default_factory=list)
    """Every notification there ever was, by sequence from 1 on: graph and registration."""
    pruned: int = 0
    """Of them, these first ones have been pruned, and are there no more."""

    def draw(self, dice: random.Random) -> Call:
        """A call that can be made now."""
        call = Call(self.called + 1, self.at + dice.choice((0, 0, 1, 1, 2, 30)) * SECOND, dice.choice(VERBS))
        self.end_leases(call.at)
        free = [name for name in (f"s{number}" for number in range(NAMES)) if name not in self.live]
        lease = dice.choice((None, None, 1, 5, 60))
        if call.verb.startswith("subscribe") and free:
            names = tuple(dice.sample(free, min(len(free), 4))) if call.verb == "subscribe_many" else (free[0],)
            kinds = tuple(dice.randrange(KINDS) for _ in names)
            return call._replace(names=names, kinds=kinds, seconds=lease)
        if call.verb in ("renew", "cancel") and self.live:
            return call._replace(names=(dice.choice(sorted(self.live)),), seconds=lease)
        if call.verb == "prune" and self.rows:
            return call._replace(sequence=dice.randint(0, len(self.rows)))
        return self.publication(call.at, dice.sample(range(KINDS), dice.randint(1, KINDS)))

    def publication(self, at: int, kinds: list[int]) -> Call:
        return Call(self.called + 1, at, "publish", kinds=tuple(kinds))

    def end_leases(self, at: int) -> None:
        """Those that are over by then, in order of their ends."""
        self.at = max(self.at, at)
        over = sorted((held.end, held.id, name) for name, held in self.live.items() if held.end and held.end <= at)
        for _, _, name in over:
            self._end(name)

    def do(self, call: Call) -> object:
        """What the call must answer."""
        self.called = call.number
        self.end_leases(call.at)
        end = None if call.seconds is None else call.at + call.seconds * SECOND
        if call.verb.startswith("subscribe"):
            randomness = random.Random(call.number).randbytes
            return [
                self._subscribe(name, kind, make_tickets(randomness, 1)[0], end)
                for name, kind in zip(call.names, call.kinds, strict=True)
            ]
        if call.verb == "renew":
            self.live[call.names[0]].end = end
            self.head += 1
            return None if end is None else time_text(end)
        if call.verb == "cancel":
            return self._end(call.names[0])
        if call.verb == "prune":
            gone = max(0, call.sequence - self.pruned)
            self.pruned += gone
            return gone
        self.head += 1
        matched = sorted(held.id for held in self.live.values() if held.kind in call.kinds)
        self.rows += [(graph_of(call), id) for id in matched]
        return matched

    def _subscribe(self, name: str, kind: int, ticket: str, end: int | None) -> list[object]:
        self.head += 1
        self.live[name] = Held(self.head, kind, ticket, end)
        self.taken[self.head] = (name, kind, ticket)
        return [self.head, ticket, None if end is None else time_text(end)]

    def _end(self, name: str) -> int:
        self.head += 1
        self.ended[self.live.pop(name).id] = self.head
        return self.head


# ---- the engine ------------------------------------------------------------------------------------------------------


class ParserHere:
    """Parses in this process: a child of its own would cost each of a thousand short lives half a second."""

    def parse(self, documents: list[Document]) -> list[ParsedDocument]:
        return [unpack_parsed(answer(pack_document(document))) for document in documents]

    parse_soon = parse_here = parse

    def close(self) -> None:
        pass


class Life:
    """An engine on a folder, and the calls made of it."""

    def __init__(self, folder: Path, at: int, take_over: bool = False) -> None:
        self._at = at
        self._randomness: Callable[[int], bytes] = random.Random(0).randbytes
        self.engine = Engine.open(folder, lambda: self._at, lambda size: self._randomness(size), take_over=take_over)

    def make(self, call: Call, ticket: str | None = None) -> object:
        """Makes the call; `ticket` is that of the subscription that it renews or cancels. A process that was followed
        within a call may answer from what its successor wrote: it says `FolderLocked` here."""
        try:
            return self._make(call, ticket)
        except InputError:
            self.engine._journal.check_writer()
            raise

    def _make(self, call: Call, ticket: str | None) -> object:
        self._at = call.at
        self._randomness = random.Random(call.number).randbytes
        engine, lease = self.engine, FOREVER if call.seconds is None else float(call.seconds)
        if call.verb == "subscribe":
            one = engine.subscribe(query(call.kinds[0]), id=call.names[0], lease=lease)
            return [[one.registration, one.ticket, one.expires]]
        if call.verb == "subscribe_many":
            pairs = zip(call.names, call.kinds, strict=True)
            many = engine.subscribe_many([Subscription(name, query(kind)) for name, kind in pairs], lease=lease)
            for one in many:
                if isinstance(one, Exception):
                    raise one
            return [[one.registration, one.ticket, one.expires] for one in many]  # type: ignore[union-attr]
        if call.verb == "renew":
            return engine.renew(call.names[0], ticket, lease)
        if call.verb == "cancel":
            return engine.unsubscribe(call.names[0], ticket)
        if call.verb == "prune":
            return engine.prune(call.sequence)
        receipt = engine.publish(document(call.kinds), "text/turtle", graph_of(call))
        return sorted(match.registration for match in receipt.matches)


def query(kind: int) -> str:
    return f"SELECT ?o {{ ?s <{E}p{kind}> ?o }}"


def document(kinds: tuple[int, ...]) -> str:
    return "".join(f"<{E}s> <{E}p{kind}> {kind} .\n" for kind in kinds)


def graph_of(call: Call) -> str:
    return f"{E}d{call.number}"


# ---- what must be there ----------------------------------------------------------------------------------------------


def check_engine(engine: Engine, ledger: Ledger) -> None:
    """Whom it asks, and what it has told: all of it, each once, under the sequence it had."""
    standing = {each.id: (each.registration, each.text, each.expires) for each in engine.subscriptions()}
    expected = {
        name: (held.id, query(held.kind), None if held.end is None else time_text(held.end))
        for name, held in ledger.live.items()
    }
    assert standing == expected, f"live: {standing} instead of {expected}"
    found = [(row.sequence, row.publication, row.version, row.registration) for row in engine.notifications()]
    rows = [(sequence, graph, 1, id) for sequence, (graph, id) in enumerate(ledger.rows, 1)][ledger.pruned :]
    assert found == rows, f"told: {sorted({*found} ^ {*rows})[:5]} (of {len(found)} and {len(rows)})"


def check_files(folder: Path, ledger: Ledger) -> None:
    """Journal and outbox are whole, and every registration there ever was is the same still."""
    with Journal.open(folder, lambda: ledger.at) as journal, Outbox.open(folder) as outbox:
        journal.check()
        outbox.check()
        assert journal.head() == ledger.head, f"{journal.head()} records instead of {ledger.head}"
        found = journal.registrations(range(1, ledger.head + 1))
        told = {int(each.id): (each.subscription.name, each.subscription.text, each.removed) for each in found}
        expected = {id: (name, query(kind), ledger.ended.get(id)) for id, (name, kind, _) in ledger.taken.items()}
        assert told == expected, f"registered: {sorted({*told.items()} ^ {*expected.items()}, key=str)[:5]}"
        for id, (_, _, ticket) in ledger.taken.items():
            assert journal.ticket_hash(id) == hash_ticket(ticket), f"the ticket of {id}"
