"""A provider, a replica and three local repositories under loss, repetition, disorder, damage, kills and clock jumps.

``python -m tests.properties.replicas N --seed S`` runs N of them. At the end of each, when nothing is lost any more,
every local repository holds what its subscriptions over the provider's documents give, with what that refers to
strongly, beside its own documents; and the replica has the provider's records and notifications. With ``--http`` they
ask a service that listens at a port and is started again and again, over connections that break anywhere.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from unittest.mock import patch

import httpx
from pyoxigraph import Triple

from tests.lives import ParserHere
from tests.reference.held import Held, canonical, expected
from triplecast import EgressFailed, Engine, LocalRepository, Replica, StorageFault
from triplecast.client.log_client import LogClient
from triplecast.journal import JournalFile
from triplecast.local import FolderProvider, HttpProvider, Provider, promote
from triplecast.local.descriptions import HELD, node_of_graph
from triplecast.repository.document_lines import document_lines

E = "https://example.org/"
NODES, DOCUMENTS, LOCALS = 7, 5, 3
STRONG = ("s1", "s2")
QUERIES = (
    f"SELECT ?s {{ ?s a <{E}C0> }}",
    f"SELECT ?s {{ ?s a <{E}C1> }}",
    f"SELECT ?s ?o {{ ?s <{E}p> ?o }}",
    f"SELECT ?s {{ ?s <{E}p> ?o . ?o <{E}name> ?name }}",
    f"SELECT ?s ?o {{ ?s a <{E}C0> OPTIONAL {{ ?s <{E}s1> ?o }} }}",
    f"SELECT ?s {{ ?s a <{E}C1> FILTER NOT EXISTS {{ ?s <{E}p> ?o }} }}",
    f"SELECT DISTINCT ?o {{ ?s <{E}s1> ?o . ?s <{E}name> ?name }}",
    f"SELECT ?s (COUNT(*) AS ?n) {{ ?s <{E}p> ?o }} GROUP BY ?s",
)
STEPS = 45


class Killed(BaseException):
    """The process ends here."""


class World:
    """One run."""

    def __init__(self, folder: Path, source: random.Random, over_http: bool = False) -> None:
        self.source = source
        self.ticks = random.Random(source.random())
        """Of the clock, which the threads of a service ask too."""
        self.folder = folder
        self.now = 1_800_000_000_000_000
        self.faulty = True
        self.seen: Counter[str] = Counter()
        self.provider = folder / "provider"
        self.engine = Engine.open(self.provider, self.clock)
        self.generation = 0
        self.replica: Replica | None = None
        self.locals: list[LocalRepository | None] = [None] * LOCALS
        self.own: list[dict[str, str]] = [{} for _ in range(LOCALS)]
        self.subscribed: list[dict[str, str]] = [{} for _ in range(LOCALS)]
        self.over_http = over_http
        self.url = ""
        self.service = ExitStack()
        self.serve()

    def clock(self) -> int:
        self.now = max(10**15, self.now + self.ticks.choice((1, 10**6, 10**6, -(10**11), 10**11)))
        return self.now

    def serve(self) -> None:
        """Start the service, at the address where it was before."""
        if self.over_http:
            from tests.unit.service.served import served

            port = httpx.URL(self.url).port if self.url else 0
            self.url = self.service.enter_context(served(self.engine, port or 0))

    def restart(self) -> None:
        self.service.close()
        self.engine.close()
        self.engine = Engine.open(self.provider, self.clock)
        self.serve()

    # ---- who there is -----------------------------------------------------------------------------------------------

    @property
    def replica_folder(self) -> Path:
        return self.folder / f"replica{self.generation}"

    def place(self, folder: Path) -> Provider:
        """A folder behind a bad connection; that of the provider, where a service has it, behind a worse one."""
        return FaultyService(self) if self.over_http and folder == self.provider else Faulty(self, folder)

    def open_replica(self) -> Replica:
        if self.replica is None:
            self.replica = Replica.open(self.replica_folder, self.place(self.provider), self.clock)
        return self.replica

    def local(self, number: int) -> LocalRepository:
        found = self.locals[number]
        if found is None:
            place = self.provider
            if number == LOCALS - 1 and (self.replica_folder / "journal.sqlite").exists():
                place = self.replica_folder
            found = LocalRepository.open(
                self.folder / f"local{number}", self.place(place), self.clock, self.source.randbytes
            )
            self.locals[number] = found
        return found

    def end(self, part: LocalRepository | Replica) -> None:
        """Let go of what was killed: nothing is saved that was not."""
        part.engine._opened.close()
        part.close()
        self.locals = [None if each is part else each for each in self.locals]
        if part is self.replica:
            self.replica = None

    def close(self) -> None:
        for part in (*self.locals, self.replica):
            if part is not None:
                self.end(part)
        self.service.close()
        self.engine.close()

    # ---- steps ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        source = self.source
        chance = source.random()
        if chance < 0.38:
            split = f"<{E}C0>" if source.random() < 0.3 else None
            self.engine.publish(self.document(), "text/turtle", f"{E}d{source.randrange(DOCUMENTS)}", split=split)
        elif chance < 0.46:
            self.engine.remove(f"{E}d{source.randrange(DOCUMENTS)}")
        elif chance < 0.5:
            marks = (f"<{E}{each}> <urn:triplecast:mdv:strong> true ." for each in STRONG if source.random() < 0.7)
            self.engine.load_schema(" ".join(marks), "text/turtle")
        elif chance < 0.6:
            self.subscribe(source.randrange(LOCALS))
        elif chance < 0.65:
            self.unsubscribe(source.randrange(LOCALS))
        elif chance < 0.67:
            self.prune()
        elif chance < 0.75:
            self.change_own(source.randrange(LOCALS))
        elif chance < 0.78:
            self.reopen()
        elif chance < 0.88:
            self.sync(self.open_replica())
        else:
            self.sync(self.local(source.randrange(LOCALS)))

    def document(self) -> str:
        source = self.source

        def node() -> str:
            return f"<{E}n{source.randrange(NODES)}>"

        lines = []
        for _ in range(source.randrange(7)):
            subject = node() if source.random() < 0.85 else "_:b"
            kind = source.choice(("a", "p", "name", "s1", "s2", "s1", "blank"))
            if kind == "a":
                lines.append(f"{subject} a <{E}C{source.randrange(2)}> .")
            elif kind == "name":
                lines.append(f'{subject} <{E}name> "{source.randrange(3)}" .')
            elif kind == "blank":
                lines.append(f"{node()} <{E}p> {source.choice(('_:b', f'[ <{E}s1> {node()} ]'))} .")
            else:
                lines.append(f"{subject} <{E}{kind}> {node()} .")
        return "\n".join(lines)

    def subscribe(self, number: int) -> None:
        name = f"q{len(self.subscribed[number])}-{self.source.randrange(1000)}"
        text = self.source.choice(QUERIES)
        if self.is_done(number, lambda: self.local(number).subscribe(text, name), lambda known: name in known):
            self.subscribed[number][name] = text

    def unsubscribe(self, number: int) -> None:
        if self.subscribed[number]:
            name = self.source.choice(sorted(self.subscribed[number]))
            if self.is_done(number, lambda: self.local(number).unsubscribe(name), lambda known: name not in known):
                del self.subscribed[number][name]

    def is_done(self, number: int, call: Callable[[], object], tells: Callable[[Collection[str]], bool]) -> bool:
        """Whether a call was done that may have had no answer, by the subscriptions that there are then."""
        try:
            call()
            return True
        except EgressFailed:
            self.seen["no answer"] += 1
            was, self.faulty = self.faulty, False
            known = self.local(number).subscriptions()
            self.faulty = was
            return tells(known)

    def prune(self) -> None:
        last = max((each.sequence for each in self.engine.notifications()), default=0)
        if last:
            self.engine.prune(self.source.randrange(last + 1))
            self.seen["pruned"] += 1

    def change_own(self, number: int) -> None:
        graph = f"urn:own:{number}:{self.source.randrange(2)}"
        if self.source.random() < 0.3:
            self.local(number).remove_local(graph)
            self.own[number].pop(graph, None)
        else:
            line = f'<{E}n{self.source.randrange(NODES)}> <{E}note> "{self.source.randrange(9)}" .'
            self.local(number).publish_local(line, "text/turtle", graph)
            self.own[number][graph] = line

    def reopen(self) -> None:
        part = self.source.choice([*self.locals, self.replica, None])
        if part is None:
            self.restart()
        else:
            self.end(part)

    def sync(self, part: LocalRepository | Replica) -> None:
        with self.killing() as killed:
            try:
                part.sync()
                self.seen["synced"] += 1
                return
            except (StorageFault, EgressFailed) as error:
                self.seen["not whole" if isinstance(error, StorageFault) else "no answer"] += 1
                return
            except Killed:
                killed.append(True)
        self.seen["killed"] += 1
        self.end(part)

    @contextmanager
    def killing(self) -> Iterator[list[bool]]:
        """A kill at one of the next crash points, sometimes."""
        left = self.source.choice((1, 2, 3, 4, 6, 9, 15)) if self.faulty and self.source.random() < 0.35 else 0
        hits = [0]

        def reach(_: str) -> None:
            if current_thread() is not main_thread():
                return  # of the service, which goes on
            hits[0] += 1
            if hits[0] == left:
                raise Killed

        where = ("journal.writer", "journal.journal", "outbox.outbox", "local.receiver")
        patches = [patch(f"triplecast.{each}.reach", reach) for each in where]
        for each in patches:
            each.start()
        try:
            yield []
        finally:
            for each in patches:
                each.stop()

    def take_over(self) -> None:
        """The provider is lost, and its replica takes its place, with what it has."""
        replica = self.open_replica()
        self.end(replica)
        self.service.close()
        self.engine.close()
        for each in [*self.locals]:
            if each is not None:
                self.end(each)
        promote(self.replica_folder, self.clock)
        self.provider = self.replica_folder
        self.generation += 1
        self.engine = Engine.open(self.provider, self.clock)
        self.serve()
        live = {each.id: each.text for each in self.engine.subscriptions()}
        for number in range(LOCALS):
            start = f"{self.local(number).owner}/"
            self.subscribed[number] = {id[len(start) :]: text for id, text in live.items() if id.startswith(start)}
        self.seen["taken over"] += 1

    # ---- the end ----------------------------------------------------------------------------------------------------

    def check(self, where: str) -> None:
        self.faulty = False
        self.engine.query("ASK { ?s ?p ?o }")  # what a kill left is matched
        replica = self.open_replica()
        replica.sync()
        with JournalFile.read_only(self.provider) as journal:
            head = journal.head()
            records, parts = journal.records(0, head, 1 << 40), journal.part_changes(0, head)
        with JournalFile.read_only(self.replica_folder) as journal:
            assert journal.records(0, head + 1, 1 << 40) == records, f"{where}: the replica's records"
            assert journal.part_changes(0, head) == parts, f"{where}: what cut documents hold in the replica"
            journal.check()
        ours, theirs = ({(n.id, n.position, n.json) for n in e.notifications()} for e in (self.engine, replica.engine))
        assert ours <= theirs, f"{where}: the replica's notifications"
        for number in range(LOCALS):
            repository = self.local(number)
            repository.sync()
            assert repository.behind == 0, (
                f"{where}: local {number} is behind {repository.position} {repository.provider.position()}"
            )
            found = held_by(repository)
            wanted = expected_of(self.provider, self.subscribed[number])
            assert found == wanted, f"{where}: local {number}: {differences(found, wanted)}"
            assert local_documents(repository) == self.own[number], f"{where}: documents of local {number}"
            self.seen["held"] += len(found)
            with JournalFile.read_only(self.folder / f"local{number}") as journal:
                journal.check()
            for node in found:
                names = {each.subscription for each in repository.holders(node.strip("<>"))}
                assert names, f"{where}: nothing holds {node}"
                assert found[node][0] <= names, f"{where}: who holds {node}"


class Faulty(FolderProvider):
    """A provider behind a bad connection."""

    def __init__(self, world: World, folder: Path) -> None:
        super().__init__(folder)
        self._world = world

    @contextmanager
    def _writer(self) -> Iterator[Engine]:
        yield self._world.engine

    def changes(self, owner: str, after: int, id: str) -> Iterator[bytes]:
        return mangled(self._world, super().changes(owner, after, id))

    def records(self, after: int, id: str, settled: int, parts: int) -> Iterator[bytes]:
        return mangled(self._world, super().records(after, id, settled, parts))

    def snapshot(self, owner: str, buckets: Collection[int] | None = None) -> bytes:
        self._world.seen["snapshots"] += 1
        self._world.seen["parts"] += buckets is not None and len(buckets) < 64
        return next(mangled(self._world, iter([super().snapshot(owner, buckets)])), b"")


class FaultyService(HttpProvider):
    """A service behind connections that break, at any place of a request or its answer; what comes through may be
    mangled."""

    def __init__(self, world: World) -> None:
        client = LogClient(world.url, transport=Breaking(world), sleep=lambda _: None)
        super().__init__(world.url, client=client)
        self._world = world

    def changes(self, owner: str, after: int, id: str) -> Iterator[bytes]:
        return mangled(self._world, super().changes(owner, after, id))

    def records(self, after: int, id: str, settled: int, parts: int) -> Iterator[bytes]:
        return mangled(self._world, super().records(after, id, settled, parts))

    def snapshot(self, owner: str, buckets: Collection[int] | None = None) -> bytes:
        self._world.seen["snapshots"] += 1
        return next(mangled(self._world, iter([super().snapshot(owner, buckets)])), b"")


class Breaking(httpx.HTTPTransport):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        chance = self._world.source.random() if self._world.faulty else 1.0
        if chance < 0.05:
            raise httpx.ConnectError("it is not there")
        response = super().handle_request(request)
        body = b"".join(response.stream)  # type: ignore[arg-type]
        response.close()
        if chance < 0.1:
            raise httpx.ReadError("the answer is lost")
        left = self._world.source.randrange(len(body) + 1) if chance < 0.25 else None
        self._world.seen["broken off"] += left is not None
        parts = [body[:left][at : at + 100] for at in range(0, len(body[:left]), 100)]
        stream = Parts(parts, breaks=left is not None)
        return httpx.Response(response.status_code, headers=response.headers, stream=stream)


class Parts(httpx.SyncByteStream):
    """An answer as it comes, and whether it breaks off."""

    def __init__(self, parts: Sequence[bytes], breaks: bool = False) -> None:
        self._parts = parts
        self._breaks = breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        if self._breaks:
            raise httpx.ReadError("the connection was reset")


def mangled(world: World, texts: Iterator[bytes]) -> Iterator[bytes]:
    """Texts as they arrive."""
    source, kept = world.source, list[bytes]()
    for text in texts:
        chance = source.random() if world.faulty else 1.0
        if chance < 0.08:
            continue
        if chance < 0.14:
            kept.append(text)
            continue
        if chance < 0.2:
            yield text
        elif chance < 0.26:
            at = source.randrange(len(text))
            text = text[:at] + bytes([text[at] ^ 1 << source.randrange(8)]) + text[at + 1 :]
        elif chance < 0.29:
            text = text[: source.randrange(len(text))]
        elif chance < 0.31:
            raise StorageFault("the connection", "it is lost", "try again")
        yield text
        if kept and source.random() < 0.5:
            yield kept.pop()
    yield from kept


def expected_of(provider: Path, subscriptions: Mapping[str, str]) -> Held:
    """What is to be held of a provider, by the documents that it has now."""
    with JournalFile.read_only(provider) as journal:
        documents = journal.current_documents("")
        strong = [each[1:-1] for each in journal.schema().strong]
    lines = {line for each in documents.values() for line in document_lines(each).splitlines(keepends=True)}
    return expected(lines, subscriptions, strong)


def held_by(repository: LocalRepository) -> Held:
    """What a local repository holds, by its own queries and records."""
    receiver = repository._state()
    triples: dict[str, list[Triple]] = {}
    for row in repository.query(f"SELECT * {{ GRAPH ?g {{ ?s ?p ?o }} FILTER STRSTARTS(STR(?g), '{HELD}') }}"):
        triples.setdefault(row["g"].value, []).append(Triple(row["s"], row["p"], row["o"]))
    graphs = {*triples, *(graph for graph in receiver.names if graph.startswith(HELD))}
    return {
        node_of_graph(graph): (frozenset(receiver.names.get(graph, ())), canonical(triples.get(graph, ())))
        for graph in graphs
    }


def differences(found: Held, wanted: Held) -> str:
    nodes = sorted(node for node in {*found, *wanted} if found.get(node) != wanted.get(node))
    return "".join(f"\n{node}\n  has {found.get(node)}\n  wants {wanted.get(node)}" for node in nodes)


def local_documents(repository: LocalRepository) -> dict[str, str]:
    rows = repository.query(f"SELECT * {{ GRAPH ?g {{ ?s ?p ?o }} FILTER (!STRSTARTS(STR(?g), '{HELD}')) }}")
    return {row["g"].value: f"{row['s']} {row['p']} {row['o']} ." for row in rows}


def run(seed: int, number: int, steps: int = STEPS, over_http: bool = False) -> Counter[str]:
    """One run. Raises AssertionError where something is held that is not to be, or is missing."""
    source = random.Random(f"replicas {seed} {number}")
    with tempfile.TemporaryDirectory() as folder, patch("triplecast.engine.engine.Parser", ParserHere):
        world = World(Path(folder), source, over_http)
        try:
            for _ in range(3):
                world.engine.publish(world.document(), "text/turtle", f"{E}d{source.randrange(DOCUMENTS)}")
            for each in range(LOCALS):
                world.subscribe(each)
            takes_over = source.randrange(2 * steps)
            for step in range(steps):
                if step == takes_over:
                    world.take_over()
                world.step()
            world.check(f"run {number} of seed {seed}")
        finally:
            world.close()
        return world.seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.replicas", description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--http", action="store_true", help="ask a service")
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for number in range(options.first, options.first + options.runs):
        total += run(options.seed, number, over_http=options.http)
    print(f"{options.runs} runs, seed {options.seed}: {dict(total)}; each holds what it is to hold")


if __name__ == "__main__":
    main()
