"""A local repository: a folder that holds what its subscriptions select of a provider, and documents of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import RLock

from triplecast.engine import Engine, Receipt, Subscribed
from triplecast.engine.querying import Answer
from triplecast.errors import InputError, StorageFault
from triplecast.journal import Clock, FileState, JournalFile, system_clock
from triplecast.journal.records import DATABASE
from triplecast.languages.rule_given import as_written
from triplecast.local.browsing import Browser
from triplecast.local.descriptions import HELD
from triplecast.local.held_state import CONTROL
from triplecast.local.holding import Holder, read_held
from triplecast.local.provider import Provider, provider_of
from triplecast.local.receiver import OutOfStep, Receiver
from triplecast.local.record_log import LogGap
from triplecast.model.subscription import REPOSITORY, Subscription
from triplecast.operators.operator_set import Declared
from triplecast.outbox import UndecidedPair
from triplecast.registry.registry import Refusal
from triplecast.repository import QUERY_STEPS

ATTEMPTS = 3
"""How often the log is asked for without coming further, before a snapshot is; and how often that is."""
OWNER = f"{CONTROL}:owner"
PROVIDER = f"{CONTROL}:provider"


class LocalRepository:
    """A folder beside a provider. Its documents are the held resources, one each, and local ones: so it is queried, and
    has subscriptions and notifications, as any other folder, by its `engine`.

    May be used from any thread; one call at a time changes it.
    """

    def __init__(self, engine: Engine, journal: JournalFile, provider: Provider, owner: str) -> None:
        """Use `open`."""
        self.engine = engine
        """The local folder's, for local subscriptions and what they find."""
        self.provider = provider
        self.owner = owner
        """Whose the subscriptions at the provider are."""
        self._journal = journal
        self._receiver: Receiver | None = None
        self._lock = RLock()

    @classmethod
    def open(
        cls,
        folder: Path | str,
        provider: Path | str | Engine | Provider | None = None,
        clock: Clock = system_clock,
        randomness: Callable[[int], bytes] = os.urandom,
        operators: Iterable[Declared] | None = None,
    ) -> LocalRepository:
        """The local repository in `folder`, made where there is none. `provider` is the folder of a provider or of its
        replica, the URL of a service (`HttpProvider`), an `Engine` that has it open in this process, or None for the
        one of last time.

        Raises TypeError for what is no provider, `InputError` for a folder that is none, `FolderLocked` while another
        process has the local folder, and `StorageFault`.
        """
        with ExitStack() as opened:
            if provider is None:
                provider = _last_provider(Path(folder))
            source = provider_of(provider)
            opened.callback(source.close)
            engine = opened.enter_context(Engine.open(folder, clock, operators=operators))
            journal = opened.enter_context(JournalFile.read_only(folder))
            sources = journal.sources()
            known = sources[PROVIDER].outcome if PROVIDER in sources else None
            if Path(source.place) == Path(folder).absolute():
                raise InputError(f"{folder} cannot follow itself", "name another folder")
            owner = sources[OWNER].outcome if OWNER in sources else f"local-{randomness(8).hex()}"
            if OWNER not in sources or known != source.place:
                names = {OWNER: owner, PROVIDER: source.place}
                engine.taking.changes((), {name: FileState(0, 0, b"", value) for name, value in names.items()})
            opened.pop_all()
        return cls(engine, journal, source, owner)

    def close(self) -> None:
        with self._lock, ExitStack() as closing:
            for part in (self.engine, self._journal, self.provider):
                closing.callback(part.close)

    def __enter__(self) -> LocalRepository:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what is held -----------------------------------------------------------------------------------------------

    def subscribe(
        self, text: str, id: str | None = None, language: str = "sparql", entailment: str | None = None
    ) -> Subscribed:
        """Hold the resources that a query's rows name, until `unsubscribe`: a subscription of repository scope at the
        provider, without an end. `sync` brings them. Raises what `Engine.subscribe` raises, and `FolderLocked` while
        another process writes to the provider."""
        with self._lock:
            name = id if id is not None else self._free_name()
            (outcome,) = self.provider.subscribe(self.owner, [self._own(name, text, language, entailment)], ())
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    def unsubscribe(self, id: str) -> None:
        """Hold no longer what only this subscription does. Raises what `Engine.unsubscribe` raises."""
        with self._lock:
            self.provider.subscribe(self.owner, (), [f"{self.owner}/{id}"])

    def subscriptions(self) -> dict[str, Subscription]:
        """Those at the provider, by id."""
        start = len(self.owner) + 1
        return {each.name[start:]: each for each in self.provider.subscriptions(self.owner)}

    def replace_subscriptions(self, wanted: Mapping[str, Subscription]) -> dict[str, Subscribed | Refusal]:
        """Have these subscriptions at the provider, by id, and no others. Return what became of those that are new or
        changed: of one that is refused, its earlier text stays. Raises `FolderLocked` and `StorageFault`."""
        with self._lock:
            owned = {id: self._own(id, each.text, each.language, each.entailment) for id, each in wanted.items()}
            known = self.subscriptions()
            same = {id for id, each in owned.items() if id in known and _says(known[id]) == _says(each)}
            ended = [each.name for id, each in known.items() if id not in same]
            added = {id: each for id, each in owned.items() if id not in same}
            if not added and not ended:
                return {}
            return dict(zip(added, self.provider.subscribe(self.owner, [*added.values()], ended), strict=True))

    def holders(self, iri: str) -> list[Holder]:
        """Who holds a resource: each subscription whose rows name it, or one that refers to it by strong references.
        Empty for what is not held."""
        if not isinstance(iri, str):
            raise TypeError(f"iri is text, not {type(iri).__name__}")
        return read_held(self._journal).holders(iri if iri.startswith("_:") else f"<{iri}>")

    def browse(self) -> Browser:
        """Look around at the provider; `subscribe` takes the `Browser.selection` made there."""
        return Browser(self.provider)

    def undecided(self, after: int = 0) -> list[UndecidedPair]:
        """What the provider could not decide of the subscriptions here at its positions beyond `after`."""
        return self.provider.undecided(self.owner, after)

    def sync(self) -> int:
        """Come to where the provider is; return that position. What arrives damaged, twice, out of order or not at all
        is asked for again, and what differs from the provider's digest is fetched by a snapshot.

        Raises `StorageFault` where even that does not arrive whole; what was taken until then stays."""
        with self._lock:
            receiver, self._receiver = self._state(), None
            wanted = self.provider.position()
            if wanted == receiver.position == 0:
                self._receiver = receiver
                return 0
            for _ in range(ATTEMPTS):
                if self._follow(receiver, wanted) and receiver.position >= wanted and self._is_same(receiver):
                    break
                self._fetch(receiver)
            self._receiver = receiver
            return receiver.position

    @property
    def position(self) -> int:
        """The provider's position up to which its resources are held; 0 before the first `sync`."""
        with self._lock:
            return self._state().position

    @property
    def behind(self) -> int:
        """How many positions of the provider's journal are not here yet. Raises `StorageFault`."""
        return max(0, self.provider.position() - self.position)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _state(self) -> Receiver:
        if self._receiver is None:
            self._receiver = Receiver(self.engine, self._journal)
        return self._receiver

    def _follow(self, receiver: Receiver, wanted: int) -> bool:
        """Take the log, again and again while that comes further; return whether it goes on from here. It is asked for
        also where nothing is missing: the position may be one of another history."""
        tried = 0
        while receiver.position and tried < ATTEMPTS:
            before = receiver.position
            try:
                receiver.take(self.provider.changes(self.owner, receiver.position, receiver.id))
                if receiver.position >= wanted:
                    return True
            except OutOfStep:
                pass
            except LogGap:
                return False
            tried = 0 if receiver.position > before else tried + 1
        return receiver.position > 0

    def _is_same(self, receiver: Receiver) -> bool:
        try:
            return receiver.digests.written == self.provider.digests(self.owner)
        except LogGap:
            return False

    def _fetch(self, receiver: Receiver) -> None:
        """Take the parts of a snapshot that differ; all of it, where the parts do not come to its digest."""
        found = ""
        for attempt in range(ATTEMPTS):
            try:
                differing = receiver.digests.differing(self.provider.digests(self.owner))
                receiver.take_snapshot(self.provider.snapshot(self.owner, differing if attempt == 0 else None))
                return
            except (OutOfStep, LogGap) as error:
                found = str(error)
        raise StorageFault(self.provider.place, f"no snapshot arrives whole: {found}", "sync again")

    def _own(self, name: str, text: str, language: str, entailment: str | None) -> Subscription:
        return Subscription(f"{self.owner}/{name}", text, language, REPOSITORY, entailment, self.owner)

    def _free_name(self) -> str:
        taken, number = self.subscriptions(), 1
        while f"subscription-{number}" in taken:
            number += 1
        return f"subscription-{number}"

    # ---- local documents and queries --------------------------------------------------------------------------------

    def query(self, text: str, language: str = "sparql", steps: int = QUERY_STEPS) -> Answer:
        """Ask what is held and the local documents, without the provider (`Engine.query`)."""
        return self.engine.query(text, language, steps)

    def publish_local(self, data: bytes | str, media_type: str | None = None, graph: str | None = None) -> Receipt:
        """Add a document that never leaves this folder (`Engine.publish`). Raises `InputError` for a `graph` of a held
        resource; a document that has one inside is rejected."""
        if (graph or "").startswith(HELD):
            raise InputError(f"a local document names a graph {HELD}…", "those are the provider's: use another name")
        return self.engine.publish(data, media_type, graph)

    def remove_local(self, graph: str) -> Receipt | None:
        """Remove a local document (`Engine.remove`)."""
        return self.engine.remove(graph)


def _last_provider(folder: Path) -> str:
    """The provider of a local repository. Raises `InputError` where there is none."""
    if (folder / DATABASE).exists():
        with JournalFile.read_only(folder) as journal:
            sources = journal.sources()
            if PROVIDER in sources:
                return sources[PROVIDER].outcome
    raise InputError(f"{folder} is no local repository yet", "name its provider")


def _says(subscription: Subscription) -> tuple[str | None, ...]:
    """What makes a subscription another one; a rule is the same as long as its text is."""
    return as_written(subscription.text), subscription.language, subscription.entailment
