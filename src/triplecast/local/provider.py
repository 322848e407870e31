"""What a local repository and a replica ask of a provider, and the provider that is a folder on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from time import monotonic, sleep
from typing import Protocol

from triplecast.engine import Engine, Subscribed
from triplecast.errors import FolderLocked, InputError
from triplecast.journal import JournalFile, read_clock, system_clock, time_text
from triplecast.journal.record import REPLICATES
from triplecast.journal.records import DATABASE
from triplecast.local.closure import Node
from triplecast.local.descriptions import describe
from triplecast.local.held_log import HeldLog
from triplecast.local.http_provider import HttpProvider, is_url
from triplecast.local.record_log import LogGap, follow_records
from triplecast.model.subscription import REPOSITORY, Registration, Subscription
from triplecast.outbox import OutboxReader, UndecidedPair
from triplecast.patch import write_patch
from triplecast.registry.control_client import open_requests
from triplecast.registry.registry import Refusal
from triplecast.registry.requests import outcome_of
from triplecast.repository import QUERY_STEPS, QueryAnswer, Repository, query_store

TOLD_SECONDS, LOOK_SECONDS = 30.0, 0.05
"""How long a run may take to tell what new subscriptions find, and how often that is looked at."""


class Provider(Protocol):
    """Where a local repository has its resources from. Methods raise `StorageFault`, and `LogGap` as they say; over
    HTTP `EgressFailed` and `ServiceRefused` too.

    Logs are texts of RDF Patch, one transaction each, in order; whoever reads them checks that none is missing. One may
    end early: then it is asked for again from where it came to.
    """

    @property
    def place(self) -> str:
        """What names the provider, on this machine or elsewhere."""

    def position(self) -> int:
        """How far the provider has evaluated."""

    def changes(self, owner: str, after: int, id: str) -> Iterator[bytes]:
        """What events beyond a position did to what an owner's subscriptions hold. Raises `LogGap` where the log at
        `after` is not the one with this `id`."""

    def snapshot(self, owner: str, buckets: Collection[int] | None = None) -> bytes:
        """All that they hold, or some buckets of it, as of the position that `changes` came to last, or now. Raises
        `LogGap` where that has to be asked again."""

    def digests(self, owner: str) -> str:
        """Of each bucket, as of that position. Raises `LogGap` likewise."""

    def records(self, after: int, id: str, settled: int, parts: int) -> Iterator[bytes]:
        """Everything that the provider's journal says beyond a position, what operators gave for what was published
        beyond `settled`, and what cut documents hold since change `parts`. Raises `LogGap` as `changes` does."""

    def subscribe(
        self, owner: str, subscriptions: Sequence[Subscription], ended: Sequence[str]
    ) -> list[Subscribed | Refusal]:
        """Register subscriptions of an owner without an end, and end those of some ids; return what became of each. One
        whose id is among the `ended` takes its place, unless it is refused. Raises `FolderLocked`."""

    def subscriptions(self, owner: str) -> list[Subscription]:
        """The live subscriptions of an owner."""

    def undecided(self, owner: str, after: int) -> list[UndecidedPair]:
        """What could not be decided of an owner's subscriptions at positions beyond `after`."""

    def query(self, text: str, steps: int = QUERY_STEPS) -> QueryAnswer:
        """Ask all of the provider's documents."""

    def describe(self, node: Node) -> Sequence[bytes]:
        """The description of a resource, as lines of N-Triples."""

    def close(self) -> None: ...


class FolderProvider:
    """A provider's folder, or a replica's, on this machine; read as any reader does, beside its writer.

    Subscribing writes: it opens the writer's folder for a moment, asks the run that has it, or uses the `Engine` that
    was given.
    """

    def __init__(self, folder: Path | str | Engine) -> None:
        """Raises `InputError` for a folder without a journal, and for an engine in memory."""
        self._engine = folder if isinstance(folder, Engine) else None
        path = folder.taking.folder if isinstance(folder, Engine) else Path(folder).absolute()
        if path is None:
            raise InputError("an engine in memory is no provider", "make one with Engine.open(folder)")
        if not (path / DATABASE).exists():
            raise InputError(f"no journal in {path}", "name the folder of a provider: publish there first")
        self._folder = path
        self._journal = JournalFile.read_only(path)
        self._outbox = OutboxReader.read_only(path)
        self._log: HeldLog | None = None
        self._log_owner = ""
        self._repository: Repository | None = None

    @property
    def place(self) -> str:
        return str(self._folder)

    def position(self) -> int:
        return self._journal.quiet_upto(self._outbox.settled_upto())

    def changes(self, owner: str, after: int, id: str) -> Iterator[bytes]:
        if after > self.position():  # of another history, or of a folder that has come further
            self._log = None
            raise LogGap
        log = self._log_of(owner, after)
        if log.id_at(after) != id:
            self._log = None
            raise LogGap
        self._log = None  # while a transaction is made
        for patch in log.follow(max(after, self.position())):
            self._log = log
            yield write_patch(patch)
            self._log = None
        self._log = log

    def snapshot(self, owner: str, buckets: Collection[int] | None = None) -> bytes:
        return write_patch(self._log_of(owner, None).snapshot(buckets))

    def digests(self, owner: str) -> str:
        return self._log_of(owner, None).digests.written

    def records(self, after: int, id: str, settled: int, parts: int) -> Iterator[bytes]:
        return map(write_patch, follow_records(self._journal, after, id, settled, parts))

    def subscribe(
        self, owner: str, subscriptions: Sequence[Subscription], ended: Sequence[str]
    ) -> list[Subscribed | Refusal]:
        written = self._written()
        if is_url(written):
            with closing(HttpProvider(written)) as provider:
                return provider.subscribe(owner, subscriptions, ended)
        try:
            with self._writer() as engine:
                return engine.taking.subscriptions(subscriptions, ended, f"{owner}/")
        except FolderLocked:
            return self._ask_run(owner, subscriptions, ended)

    def subscriptions(self, owner: str) -> list[Subscription]:
        return [each.subscription for each in self._registrations(owner)]

    def undecided(self, owner: str, after: int) -> list[UndecidedPair]:
        return [each for each in self._outbox.undecided(after) if each.owner == owner]

    def query(self, text: str, steps: int = QUERY_STEPS) -> QueryAnswer:
        repository, now = self._documents(), time_text(read_clock(system_clock))
        return query_store(repository.follow(), text, "sparql", steps, now, None, repository.taxonomy)

    def describe(self, node: Node) -> Sequence[bytes]:
        return describe(self._documents().follow(), node).lines

    def close(self) -> None:
        self._journal.close()
        self._outbox.close()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _log_of(self, owner: str, position: int | None) -> HeldLog:
        """The log at a position; without one, where it is, if that is not before all records, or at the present."""
        log = self._log if self._log_owner == owner else None
        if log is None or position not in (None, log.position) or log.position == 0:
            self._log = None
            pruned = self._tell_again(owner, position)
            at = self.position() if position is None else position
            log = HeldLog(self._journal, self._outbox, self._folder, owner, at, pruned)
            self._log, self._log_owner = log, owner
        return log

    def _tell_again(self, owner: str, position: int | None) -> int:
        """Register anew what has lost notifications by pruning: the first one that it gets then tells all. Return up to
        which sequence that is done. Raises `LogGap` where somebody wants to go on from a position before."""
        state = self._outbox.state
        live = self._registrations(owner) if state.pruned else []
        lost = [each.subscription for each in live if each.id <= state.forgotten]
        if lost:
            self.subscribe(owner, lost, [each.name for each in lost])
            if position is not None:
                raise LogGap
        return state.pruned

    def _registrations(self, owner: str) -> list[Registration]:
        live = self._journal.live_registrations()
        return [each for each in live if each.subscription.owner == owner and each.subscription.scope == REPOSITORY]

    def _documents(self) -> Repository:
        if self._repository is None:
            self._repository = Repository(self._journal, self._folder)
        return self._repository

    def _ask_run(
        self, owner: str, subscriptions: Sequence[Subscription], ended: Sequence[str]
    ) -> list[Subscribed | Refusal]:
        """Have the run that has the folder do it, and wait until it has told what the new ones find."""
        rows = [
            {name: value for name, value in asdict(each).items() if value and name != "name"} | {"id": each.name}
            for each in subscriptions
        ]
        written = Path(self._written())
        with open_requests(written) as ask:
            request = {"request": "replace", "subscriptions": rows, "ended": [*ended], "within": f"{owner}/"}
            outcomes = [*map(outcome_of, ask(request)["outcomes"])]  # type: ignore[call-overload]
        wanted = max((each.registration for each in outcomes if isinstance(each, Subscribed)), default=0)
        until = monotonic() + TOLD_SECONDS
        while wanted and self._folder == written and self.position() < wanted and monotonic() < until:
            sleep(LOOK_SECONDS)
        return outcomes

    def _written(self) -> str:
        """The folder that is written to, or the service that has it."""
        place = str(self._folder)
        while not is_url(place) and (writer := _replicated(Path(place))):
            place = writer
        return place

    @contextmanager
    def _writer(self) -> Iterator[Engine]:
        """The engine of the folder that is written to."""
        folder = Path(self._written())
        if self._engine is not None and folder == self._folder:
            yield self._engine
        else:
            with Engine.open(folder) as engine:
                yield engine


def provider_of(given: Path | str | Engine | Provider) -> Provider:
    """The provider that is meant: a folder, an address of a service, or itself. Raises what `FolderProvider` and
    `HttpProvider` raise, and TypeError for what is no provider."""
    if is_url(given):
        return HttpProvider(str(given))
    if isinstance(given, Path | str | Engine):
        return FolderProvider(given)
    if not callable(getattr(given, "changes", None)):
        raise TypeError(
            f"a provider is a folder, the URL of a service, an Engine or a `local.Provider`, not {type(given).__name__}"
        )
    return given


def _replicated(folder: Path) -> str | None:
    """What a folder is a replica of."""
    with JournalFile.read_only(folder) as journal:
        return journal.settings().get(REPLICATES) or None
