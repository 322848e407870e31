"""The one way from the journal's head over matching to the outbox.

::

    accepted ─match─► matched ─commit─► told ─┬─ nothing pending ───────────────────► settled
       │ in the journal, synced               └─ pending ─ask─► answered ─keep─► kept ─settle─► settled
       └ a start goes on from told                  └─ operator unavailable: set aside ─turn─► pending

For positions: ``progress ≤ told ≤ head``. Publications beyond ``told`` are to be matched; up to there all that is
decided without operators is recorded. Pending pairs, and rows withheld behind them, are in (``progress``, ``told``]. A
process that ends before `commit` has its publications matched again; one that ends between `keep` and `settle` settles
them by the stored answers, without a call.

An `Engine` follows `next` until nothing is due, on the caller's thread. In a run the stream takes the ranges and jobs
beside it the batches that operators are asked about; what they bring comes here by the same methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from triplecast.driver.turns import AskBatch, Turns
from triplecast.errors import FolderLocked, StorageFault
from triplecast.journal import Journal, JournalFile
from triplecast.model.answers import OperatorResult
from triplecast.outbox import Committed, OpenPart, Outbox, OutboxBatch, OutboxReader
from triplecast.telling.new import NewHearers

ASKED_AT_ONCE = 1_000
"""Publications with pending pairs that `Driver.next` gives together."""


class MatchRange(NamedTuple):
    """Events at positions in (`after`, `upto`] are to be matched, or first ones of them."""

    after: int
    upto: int


def open_outbox(folder: Path, journal: Journal) -> Outbox:
    """Open the outbox beside a writer's journal. Raises `StorageFault`, and `FolderLocked` while the process that the
    folder was taken over from is in the middle of a write.

    Every writer of a folder comes through here before it appends: in a journal older than its outbox, new records would
    take the positions of lost ones, and new notifications the ids of old ones.
    """
    outbox = Outbox.open(folder, journal.check_writer, journal.former, journal.epoch, journal.outbox_mark)
    try:
        check_progress(journal, outbox)
    except StorageFault:
        outbox.close()
        raise
    journal.note_outbox(outbox.mark)
    return outbox


def check_progress(journal: JournalFile, outbox: OutboxReader) -> None:
    """Raises `StorageFault` where more has been matched than the journal holds: it has lost its end."""
    matched = outbox.told
    head = journal.head()  # read second: a writer may append and match in between
    if matched > head:
        found = f"it ends at position {head}, but {matched} has been matched"
        raise StorageFault(journal.where, found, "restore journal and outbox from one copy")


class Driver:
    """The state machine of one folder's writer; its state is in journal and outbox, but for whose turn it is.

    Its methods are called by one thread at a time.
    """

    def __init__(self, journal: Journal, outbox: Outbox, all_events: bool = False) -> None:
        """`all_events`: events that are of no document are to be told too."""
        self._journal = journal
        self._outbox = outbox
        following = journal.next_document(outbox.told)
        self._empty_upto: int = journal.head() if following is None else following - 1
        if all_events:
            self._empty_upto = outbox.told
        """Up to here nothing is to be matched, though nothing says so in the outbox."""
        self.turns = Turns(outbox)
        self._hearers = NewHearers(journal)
        self._forget_heard()

    @property
    def needed_from(self) -> int:
        """No publication up to this position will be matched again."""
        state = self._outbox.durable
        whole = state.progress == state.told == self._outbox.told
        return max(state.told, self._empty_upto) if whole else state.progress

    @property
    def is_done(self) -> bool:
        """Whether nothing is due or pending."""
        state = self._outbox.state
        return state.progress == state.told and self._journal.head() <= max(state.told, self._empty_upto)

    def next(self) -> MatchRange | AskBatch | None:
        """Return what is due: pending pairs of earlier publications first, but for those set aside; None for nothing.

        Raises `FolderLocked` where pairs are pending and another writer has the folder now.
        """
        state = self._outbox.state
        batch = None if state.progress == state.told else self.turns.next(0.0, ASKED_AT_ONCE)
        if batch is not None:
            self._journal.check_writer()
            return batch
        head = self._journal.head()
        if head <= self._empty_upto:
            return None
        after = max(state.told, self._empty_upto)
        return MatchRange(after, head) if after < head else None

    def note_no_documents(self, upto: int) -> None:
        """Note that no document beyond `told` and up to `upto` is to be matched: nothing is written for that."""
        self._empty_upto = upto

    def commit(
        self,
        batch: OutboxBatch,
        upto: int,
        after: int | None = None,
        open: Sequence[OpenPart] = (),
        replayed: bool = False,
    ) -> Committed:
        """Record what is decided without operators of the publications up to `upto` (`Outbox.commit`).

        Raises `StorageFault` where a publication matched again gave other rows than the first time.
        """
        hearers = self._new_hearers()
        committed = self._outbox.commit(batch, upto, self._journal.names_with, after, open, replayed, hearers)
        self._note_outbox()
        if committed.differing:
            raise StorageFault(
                "outbox",
                f"a replay gave other matches than were committed for positions {list(committed.differing[:5])}",
                "report it to the authors of Triplecast; the rows committed first stay",
            )
        return committed

    def keep(self, answers: Sequence[OperatorResult]) -> bool:
        """Store answers in the journal, before anything that depends on them is recorded. The first answer to a call
        stays: False where one of these is another, and what depends on it has to be resolved again."""
        return self._journal.keep_results(answers)

    def settle(self, batch: OutboxBatch, upto: int, after: int) -> Committed:
        """Record what became of pending pairs of publications at positions in (`after`, `upto`] (`Outbox.settle`)."""
        settled = self._outbox.settle(batch, upto, self._journal.names_with, after, self._new_hearers())
        self._note_outbox()
        return settled

    def close(self) -> None:
        """Sync what was recorded, before journal and outbox are closed; what fails to be is made again."""
        with suppress(StorageFault, FolderLocked):
            self._outbox.sync()
            self._note_outbox()

    def _new_hearers(self) -> NewHearers | None:
        return self._hearers if self._hearers.are_there else None

    def _forget_heard(self) -> None:
        """Forget what was told to registrations that have ended and want nothing more."""
        progress = self._outbox.progress

        def over(registrations: Sequence[int]) -> list[int]:
            found = self._journal.registrations(registrations)
            return [int(each.id) for each in found if each.removed is not None and each.removed <= progress]

        if self._hearers.are_there:
            self._outbox.forget_heard(over)

    def _note_outbox(self) -> None:
        mark = self._outbox.mark
        if mark != self._journal.outbox_mark:
            self._journal.note_outbox(mark)
