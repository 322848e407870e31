"""The outbox's writer: what is recorded, in one transaction with how far matching has come (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from triplecast.crash_points import reach
from triplecast.end_mark import EndMark, close_untouched, has_content, read_end_mark
from triplecast.errors import FolderLocked, StorageFault
from triplecast.model.answers import bounded_reason
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import OutboxBatch
from triplecast.outbox.chunk import CHUNK_BYTES
from triplecast.outbox.chunks import Chunked, ChunkWriter, chunks_of, digests_by_position, kept_digests
from triplecast.outbox.distinct import KnownNumbers
from triplecast.outbox.heard import Heard, Hearers
from triplecast.outbox.notification import Names
from triplecast.outbox.pruning import prune, prune_undecided
from triplecast.outbox.reader import DATABASE, END, OutboxReader, check_mark, nobody_else
from triplecast.outbox.stored_names import named_ranges, write_names
from triplecast.outbox.tables import (
    OUTBOX,
    OpenPart,
    OutboxFile,
    Pending,
    State,
    end_pairs,
    fields_checksum,
    first_open,
    read_open_pairs,
    read_publications,
    release,
    write_open_pairs,
    write_rows,
)
from triplecast.sqlite import SqliteFile, row_number
from triplecast.storage_faults import make_folder

UNSYNCED = 63
"""Most commits that wait for the sync of the next one."""


class Committed(NamedTuple):
    """What one commit wrote."""

    first: int
    """Sequence of the first new notification; `last` + 1 when there is none."""
    last: int
    dropped: int
    """Rows that were given and not recorded: committed before, or of pairs that are not open."""
    differing: tuple[int, ...]
    """Positions committed before whose rows now differ from the first ones, which stay (semantics 9.6)."""
    told: OutboxBatch
    """What was given, but of who wants to hear what is new only what was recorded now."""


class Outbox(OutboxReader):
    """The writer. There is one, because there is one for the journal beside it.

    A batch is recorded whole or not at all. What is committed keeps its sequence and id until it is pruned; committing
    it again adds nothing, even then.
    """

    def __init__(self, database: SqliteFile, check_writer: Callable[[], None] = nobody_else, epoch: int = 0) -> None:
        """`check_writer` (`OutboxReader`) is called inside each transaction, too.
        The outbox is in the given `epoch` from now on, where that is later than its own."""
        super().__init__(database, check_writer)
        self._end: EndMark | None = None
        self._chunk_writer = ChunkWriter(database)
        self._heard = Heard(database)
        self._state = self._next = self._durable = State()
        """How far everything has come; what the transaction under way has written; and what was synced last."""
        self._unsynced = 0
        """Commits since."""
        self._passed = 0
        """Up to here nothing had to be recorded, which is not written yet."""
        with self._write():  # one that began before the folder was taken over has ended now
            self._write_state(self._state._replace(epoch=max(epoch, self._state.epoch)))
        self._known = KnownNumbers(named_ranges(database))
        self._open: set[int] = {id for (id,) in database.ask("SELECT DISTINCT registration FROM open_pair")}
        """Registrations that have pending pairs."""

    @classmethod
    def open(
        cls,
        folder: Path | str,
        check_writer: Callable[[], None] = nobody_else,
        former: str | None = None,
        epoch: int = 1,
        noted: tuple[int, ...] = (),
    ) -> Outbox:
        """Open the outbox in `folder`, made where there is none.

        `former` is the process that the folder was taken over from (`Journal.former`). `epoch` is that of the folder's
        writer (`Journal.epoch`): it becomes the outbox's where the end of one before may have been lost, or where this
        is an older copy, which lacks what was `noted` (`Journal.outbox_mark`).

        Raises `StorageFault` for an outbox that lost its end, and `FolderLocked` while `former` is in the middle of a
        write.
        """
        folder = Path(folder)
        make_folder(folder)
        path, mark = folder / DATABASE, read_end_mark(folder / END)
        if mark and not has_content(path):
            found = f"it is missing, and held notifications up to {mark[2]}"
            raise StorageFault(str(path), found, f"restore it from a copy, or delete {END}: then all is matched again")
        with ExitStack() as opened:
            database = opened.enter_context(closing(SqliteFile.writer(path, OUTBOX, former)))
            state = OutboxFile(database).state
            try:
                check_mark(database.where, state, mark)
            except StorageFault:
                close_untouched(database, path, OUTBOX)
                raise
            is_last = bool(mark) and not state.lacks(noted)
            outbox = cls(database, check_writer, state.epoch if is_last else max(epoch, state.epoch + 1))
            with outbox._write():
                outbox._end = EndMark(folder / END, *outbox.mark, 0)
            opened.pop_all()
        return outbox

    @classmethod
    def in_memory(cls) -> Outbox:
        """Make an outbox that ends with the process."""
        return cls(SqliteFile.writer(None, OUTBOX), epoch=1)

    def close(self) -> None:
        with suppress(StorageFault, FolderLocked):  # what is lost can be made again
            self.sync()
        super().close()
        if self._end is not None:
            self._end.close()

    def commit(
        self,
        batch: OutboxBatch,
        upto: int,
        names: Names,
        after: int | None = None,
        open: Sequence[OpenPart] = (),
        replayed: bool = False,
        hearers: Hearers | None = None,
    ) -> Committed:
        """Record what is decided without operators of publications up to `upto`, in one synced transaction.

        `batch` holds all of it for publications beyond `after` (default: from its first one on), so that one which had
        rows and has none now differs. Its `awaited` pairs are open: `settle` records what becomes of them, `open` is
        what is known of them. Later rows of the same registrations are withheld until then, so that a subscriber gets
        the publications in order. Of registrations among the `hearers`, solutions that they were told are left out.
        Raises ValueError for a row beyond `upto`.

        `replayed` says that who opens the folder commits again what is not there: then `UNSYNCED` commits share a sync,
        and where there is nothing to record nothing is written before. What is pending or undecided is synced always.
        """
        _check_end(batch, upto)
        synced = not replayed or bool(batch.awaited or batch.undecided) or self._unsynced >= UNSYNCED
        with self._database.lock:
            if not synced and not batch.publications and self._pass_over(upto, after):
                return Committed(self._state.sequence + 1, self._state.sequence, 0, (), batch)
            with self._write(synced):
                state = self.state
                new = batch.between(state.told, upto)
                pairs = sorted((pair.position, pair.registration) for pair in new.awaited)
                waiting = self._open
                if pairs:
                    write_open_pairs(self._database, pairs, open)
                    waiting = waiting | {registration for _, registration in pairs}
                known = self._write_named(new, new.undecided, names)
                kept = self._withhold(new, waiting) if waiting else new
                recorded, told = self._heard.leave_out(kept, batch, hearers)
                chunks = chunks_of(recorded, digests_by_position(new))
                last = self._write_chunks(state, chunks, max(state.told, upto), bool(waiting))
            self._known.add(known)
            self._open = waiting
            self._mark()
            reach("outbox.committed")
            if pairs:
                reach("outbox.some-wait")
            differing = self._differing(batch, after, min(state.told, upto))
            return Committed(state.sequence + 1, last, len(batch.position) - len(new.position), differing, told)

    def settle(
        self, batch: OutboxBatch, upto: int, names: Names, after: int = 0, hearers: Hearers | None = None
    ) -> Committed:
        """Record what became of the pending pairs of publications at positions in (`after`, `upto`], in one synced
        transaction: rows, undecided pairs, or nothing.

        Pairs that `batch` still awaits stay open, and what is known of them is kept. Rows of pairs that are not open
        add nothing. Withheld rows that no pending pair precedes any more are recorded too, in order. Raises ValueError
        where `upto` is beyond `told`, and for a row beyond `upto`.
        """
        _check_end(batch, upto)
        with self._database.lock:
            if upto > self.told:
                raise ValueError(f"nothing is open beyond position {self.told}, so up to {upto} nothing can be settled")
            with self._write():
                state = self.state
                settled = read_open_pairs(self._database, after, upto) - {pair[:2] for pair in batch.awaited}
                end_pairs(self._database, sorted(settled))
                registrations = sorted({registration for _, registration in settled})
                first = first_open(self._database, registrations)
                pairs = zip(batch.position.tolist(), batch.registration.tolist(), strict=True)
                mine = batch.only(np.array([pair in settled for pair in pairs], np.bool_))
                undecided = tuple(pair for pair in batch.undecided if pair[:2] in settled)
                known = self._write_named(mine, undecided, names)
                released = release(self._database, registrations, first)
                now = self._withhold(mine, first.keys()) if first else mine
                rows = sorted([*now.rows(), *released])
                free = OutboxBatch.of_rows(rows, read_publications(self._database, batch.publications, released))
                recorded, told = self._heard.leave_out(free, batch, hearers)
                chunks = self._late_chunks(recorded)
                last = self._write_chunks(state, chunks, state.told, bool(self._open))
            self._known.add(known)
            self._open -= {*registrations} - first.keys()
            self._mark()
            reach("outbox.committed")
            return Committed(state.sequence + 1, last, len(batch.position) - len(mine.position), (), told)

    def sync(self) -> None:
        """Write and sync what waits for it."""
        with self._database.lock:
            if self._state != self._durable:
                with self._write():
                    self._write_state(self._state)
                self._mark()

    def prune(self, upto: int) -> int:
        """Delete notifications up to sequence `upto`, and the undecided pairs of the publications left behind.

        Returns how many notifications went. Raises `StorageFault`, also on a full disk, where SQLite cannot delete
        either; what went in the steps before is gone. The space of a chunk is free once all its notifications went.
        """
        upto, before = row_number(upto, "the sequence to prune to"), self.state.pruned
        while True:
            with self._write():
                self._chunk_writer.forget()
                state = self.state
                after = prune(self._database, state, min(upto, state.sequence))
                self._write_state(after)
                reach("outbox.pruned")
            self._mark()
            if after.pruned >= min(upto, after.sequence):
                return after.pruned - before

    def prune_undecided(self, upto: int) -> int:
        """Delete the undecided pairs of publications at positions up to `upto`; return how many. Notifications stay.
        Raises `StorageFault`."""
        upto = row_number(upto, "the position to prune to")
        with self._write():
            ((pairs,),) = self._database.ask("SELECT count(*) FROM undecided WHERE position <= ?", (upto,))
            self._write_state(prune_undecided(self._database, self.state, upto))
        return int(pairs)

    def forget_heard(self, over: Callable[[Sequence[int]], Sequence[int]]) -> None:
        """Forget which solutions those registrations were told that are `over` and will be told nothing more."""
        if ended := over(self._heard.registrations()):
            with self._write():
                self._heard.forget(ended)
                self._write_state(self._state)

    # ---- inside -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """How far the outbox has come. Only its writer changes that, so only transactions read it."""
        return self._state

    @property
    def durable(self) -> State:
        """How far it had come when it was synced last: what came later is lost if the machine fails."""
        return self._durable

    @property
    def mark(self) -> tuple[int, ...]:
        """What its end mark says."""
        return self._durable.mark

    def pending(self, after: int, limit: int) -> Pending:
        """As `OutboxReader.pending`, at once where no pair is open."""
        nothing_open = self._state.progress == self._state.told
        return Pending([], [], []) if nothing_open else super().pending(after, limit)

    @contextmanager
    def _write(self, synced: bool = True) -> Iterator[None]:
        """A transaction of the folder's writer, which may write the state."""
        with self._database.lock:
            try:
                with self._database.write(synced):
                    self._check_writer()
                    stored = self._read_state()
                    if self._passed > stored.told:
                        stored = stored._replace(told=self._passed, progress=self._passed)
                    self._state = self._next = stored
                    yield
            except BaseException:
                self._chunk_writer.forget()
                self._heard.forget_counts()
                raise
            self._state, self._unsynced = self._next, self._unsynced + 1
            if synced:
                self._durable, self._unsynced = self._state, 0
            self.commits.ring()

    def _pass_over(self, upto: int, after: int | None) -> bool:
        """Note that there is nothing to record up to `upto`, and nothing pending; return False where that is not so, or
        some of it was committed before."""
        state = self._state
        if state.progress < state.told or upto < state.told or (after is not None and after < state.told):
            return False
        self._state = state._replace(told=upto, progress=upto)
        self._passed = upto
        self._unsynced += 1
        if self._end is not None:
            self._end.set(*self.mark, upto)
        return True

    def _write_state(self, state: State) -> None:
        self._next = state
        crc = fields_checksum("state", *state)
        fields = ", ".join(f"{name} = ?" for name in State._fields)
        self._database.run(f"UPDATE state SET {fields}, crc = ?", [(*state, crc)])

    def _write_chunks(self, state: State, chunks: Iterable[Chunked], told: int, pending: bool) -> int:
        """Write chunks after those of `state`, and how far everything has come; return the last sequence."""
        last = self._chunk_writer.append(state.sequence + 1, chunks) - 1
        reach("outbox.rows-written")
        open = None
        if pending:
            ((open,),) = self._database.ask("SELECT min(position) FROM open_pair")
        self._write_state(state._replace(told=told, progress=told if open is None else open - 1, sequence=last))
        reach("outbox.position-written")
        return last

    def _mark(self) -> None:
        if self._end is not None and not self._unsynced:
            self._end.set(*self.mark, self._passed)

    def _withhold(self, batch: OutboxBatch, registrations: Collection[int]) -> OutboxBatch:
        """Store the rows that a pending pair of their registration precedes, if it is one of `registrations`; return
        the others."""
        maybe = batch.registration[np.isin(batch.registration, [*registrations])]
        first = first_open(self._database, np.unique(maybe).tolist())
        if not first:
            return batch
        pairs = zip(batch.position.tolist(), batch.registration.tolist(), strict=True)
        behind = np.array([position >= first.get(registration, position + 1) for position, registration in pairs])
        rows = batch.only(behind).rows()
        write_rows(self._database, "withheld", rows)
        self._write_publications(batch, {row.position for row in rows})
        return batch.only(~behind)

    def _late_chunks(self, batch: OutboxBatch) -> Iterator[Chunked]:
        """The chunks of rows that are recorded as pending pairs are settled, or were withheld before."""
        if len(batch.position):
            for piece in batch.cut(CHUNK_BYTES):
                yield Chunked.of(piece, np.zeros(len(piece.publications), np.uint64), late=True)

    def _write_publications(self, batch: OutboxBatch, positions: Container[int]) -> None:
        named = [name for name in batch.publications if name.position in positions]
        write_rows(self._database, "publication", named, "INSERT OR IGNORE")

    def _write_named(self, batch: OutboxBatch, undecided: Sequence[PairReason], names: Names) -> Sequence[range]:
        """Write undecided pairs and what these are of, and the names of registrations that rows and they have for the
        first time. Return whose names these are, which are known once this is committed."""
        pairs = [
            (pair.position, int(pair.registration), int(pair.by_removal), bounded_reason(pair.reason))
            for pair in undecided
        ]
        seen = batch.registration
        if pairs:
            seen = np.concatenate([seen, np.array([pair[1] for pair in pairs], np.int64)])
        new = self._known.missing(seen)
        named = write_names(self._database, names(new.tolist())) if len(new) else []
        if pairs:
            self._write_publications(batch, {pair[0] for pair in pairs})
            write_rows(self._database, "undecided", pairs, "INSERT OR IGNORE")
        return named

    def _differing(self, batch: OutboxBatch, after: int | None, upto: int) -> tuple[int, ...]:
        """The publications in (`after`, `upto`], all committed earlier, whose rows are not those kept, but
        for those that may have been pruned."""
        if after is None:
            after = batch.publications[0].position - 1 if batch.publications else upto
        if after >= upto:
            return ()
        after = max(after, self.state.forgotten)
        given = digests_by_position(batch.between(after, upto))
        kept = kept_digests(self._database, after, upto)
        return tuple(sorted(each for each in kept.keys() | given.keys() if given.get(each) != kept.get(each)))


def _check_end(batch: OutboxBatch, upto: int) -> None:
    if batch.publications and batch.publications[-1].position > upto:
        raise ValueError(f"a publication at {batch.publications[-1].position} cannot be committed as told up to {upto}")
