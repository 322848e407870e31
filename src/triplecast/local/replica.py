"""A replica: a folder with the records of a provider at the same positions, which serves readers and takes over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import RLock

from triplecast.engine import Engine
from triplecast.errors import DocumentRejected, InputError, StorageFault
from triplecast.journal import BYTES_AT_ONCE, Clock, Journal, JournalFile, PartChange, ReplicatedRecord, system_clock
from triplecast.journal.record import REPLICATES, Row
from triplecast.journal.records import DATABASE
from triplecast.local.provider import Provider, provider_of
from triplecast.local.record_log import LogGap, id_at, note, parts_of, record_of, results_of
from triplecast.model.answers import OperatorResult
from triplecast.operators.operator_set import Declared
from triplecast.outbox import OutboxReader
from triplecast.patch import Patch, read_patches, text_of

RECORDS_AT_ONCE = 1_000
"""Records that are taken in one transaction, unless fewer come to `BYTES_AT_ONCE`."""
_ANOTHER = "replicate into a new folder"


class Replica:
    """A folder that takes what a provider records, and matches it: so it has the provider's notifications too. What
    else would write to it is refused with `ReplicaWritten`. May be used from any thread."""

    def __init__(self, engine: Engine, journal: JournalFile, outbox: OutboxReader, provider: Provider) -> None:
        """Use `open`."""
        self.engine = engine
        """The replica's, for whoever reads it in this process."""
        self.provider = provider
        self._journal = journal
        self._outbox = outbox
        self._lock = RLock()

    @classmethod
    def open(
        cls,
        folder: Path | str,
        provider: Path | str | Engine | Provider,
        clock: Clock = system_clock,
        operators: Iterable[Declared] | None = None,
    ) -> Replica:
        """The replica in `folder`, made where there is none. Raises `InputError` for a folder that has records of its
        own or is of another provider, `FolderLocked` and `StorageFault`."""
        with ExitStack() as opened:
            source = provider_of(provider)
            opened.callback(source.close)
            with Journal.open(folder, clock) as journal:
                if journal.replicates is None and journal.head() > 0:
                    raise InputError(f"{folder} has records of its own", _ANOTHER)
                if journal.replicates is None or journal.replicates != source.place:
                    journal.set_setting(REPLICATES, source.place)
            engine = opened.enter_context(Engine.open(folder, clock, operators=operators))
            reader = opened.enter_context(JournalFile.read_only(folder))
            outbox = opened.enter_context(OutboxReader.read_only(folder))
            opened.pop_all()
        return cls(engine, reader, outbox, source)

    def close(self) -> None:
        with self._lock, ExitStack() as closing:
            for part in (self.engine, self._journal, self._outbox, self.provider):
                closing.callback(part.close)

    def __enter__(self) -> Replica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def position(self) -> int:
        """How far the provider's records are here."""
        return self._journal.head()

    @property
    def behind(self) -> int:
        """How many positions of what the provider has evaluated are not here yet."""
        return max(0, self.provider.position() - self.position)

    def sync(self) -> int:
        """Take what the provider had recorded and told when this began, and match it; return the position reached.

        What was taken before is passed over. Raises `StorageFault` where the log does not go on from here: what was
        taken until then stays."""
        with self._lock:
            wanted = self.provider.position()
            while True:
                position = self._journal.head()
                self._take_from(position)
                reached = self._journal.head()
                if reached == position or min(reached, self._outbox.settled_upto()) >= wanted:
                    return reached

    def _take_from(self, position: int) -> None:
        """Take the log from a position on, as far as it comes."""
        taken = _Taken(self._journal, position)
        settled = self._outbox.state.progress
        try:
            for text in self.provider.records(position, id_at(self._journal, position), settled, taken.part):
                taken.read(text)
                if len(taken.records) == RECORDS_AT_ONCE or taken.size >= BYTES_AT_ONCE:
                    self._commit(taken)
        except LogGap:
            found = f"the journal of {self.provider.place} is not the one that this folder has up to {position}"
            raise StorageFault(self._journal.where, found, _ANOTHER) from None
        except DocumentRejected as error:
            self._commit(taken)
            raise StorageFault(self.provider.place, f"its log cannot be read: {error}", "sync again") from None
        self._commit(taken)

    def _commit(self, taken: _Taken) -> None:
        if taken.records or taken.results or taken.parts:
            self.engine.taking.records(taken.records, taken.results, taken.parts)
        taken.records, taken.results, taken.parts, taken.size = [], [], [], 0


class _Taken:
    """What was read and is not written yet."""

    def __init__(self, journal: JournalFile, position: int) -> None:
        self.records: list[ReplicatedRecord] = []
        self.results: list[OperatorResult] = []
        self.parts: list[PartChange] = []
        """That come before the records."""
        self.part = journal.last_part_change()
        """The number of the last one read."""
        self.size = 0
        self._journal = journal
        self._position = position
        self._id = id_at(journal, position)
        self._documents: dict[str, Row] = {}
        """Current documents that were looked at, by graph."""
        self._known: set[str] = set()

    def read(self, text: bytes) -> None:
        """Raises `DocumentRejected`, and `StorageFault` for a record that does not follow."""
        for patch in read_patches(text):
            results = results_of(patch)
            if results is not None:
                self.results += results
                continue
            parts = parts_of(patch)
            if parts is not None:
                self._add(self._following(parts, patch))
                continue
            try:
                position, id, name = (patch.header[key] for key in ("position", "id", "name"))
                number, graph = int(text_of(position)), text_of(name)
            except (KeyError, ValueError) as error:
                found = f"the transaction is no record: {type(error).__name__} {error}"
                raise DocumentRejected("patch", found, "read it again", patch.line) from None
            if 0 < number <= self._position:
                continue
            if patch.header.get("prev") != self._id:
                found = f"record {number} does not follow record {self._position}"
                raise DocumentRejected("patch", found, "read it again", patch.line)
            self._look_up(graph)
            record = record_of(patch, self._documents)
            self.records.append(record._replace(parts=self._following(record.parts, patch)))
            self.size += len(text)
            self._position, self._id = number, id
            note(self._documents, record.row)

    def _add(self, changes: list[PartChange]) -> None:
        """Take what changed without a record, after the last one."""
        if self.records:
            last = self.records[-1]
            self.records[-1] = last._replace(parts=[*last.parts, *changes])
        else:
            self.parts += changes

    def _following(self, changes: Sequence[PartChange], patch: Patch) -> list[PartChange]:
        """Those that were not read before. Raises `DocumentRejected` where one is missing before them."""
        new = [each for each in changes if each.number > self.part]
        for each in new:
            if each.number != self.part + 1:
                found = f"change {each.number} of a cut document does not follow change {self.part}"
                raise DocumentRejected("patch", found, "read it again", patch.line)
            self.part = each.number
        return new

    def _look_up(self, graph: str) -> None:
        if graph not in self._known:
            self._known.add(graph)
            self._documents |= self._journal.records_of([graph])


def promote(folder: Path | str, clock: Clock = system_clock) -> int:
    """Make a provider of a replica, at the position it has; return that. The former provider is to write no more: what
    it records beyond is not here. Raises `InputError` for a folder that is no replica."""
    if not (Path(folder) / DATABASE).exists():
        raise InputError(f"no journal in {folder}", "name the folder of a replica")
    with Journal.open(folder, clock) as journal:
        if journal.replicates is None:
            raise InputError(f"{folder} is no replica", "it can be written to already")
        journal.set_setting(REPLICATES, "")
        return journal.head()
