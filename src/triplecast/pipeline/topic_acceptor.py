"""The acceptor of a topic: its records go through the parsers into the journal, each once, in their order.

What a group of records brings and how far their partitions were read is one transaction, so a start goes on there.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from triplecast.crash_points import reach
from triplecast.ingest import Document, ParsedDocument
from triplecast.ingest.inbox_files import GROUP_BYTES, GROUP_DOCUMENTS
from triplecast.kafka.records import Arrival, read_record
from triplecast.kafka.topic_reader import TopicReader
from triplecast.model.publication import Draft, FileState, Reject
from triplecast.pipeline.acceptor import Intake, Taken, describe_warnings
from triplecast.pipeline.looks import LOOK_SECONDS

_VERSION = "version"


def version_place(graph: str) -> str:
    """The path under which the journal keeps the publisher's version of a graph."""
    return f"kafka version:{graph}"


@dataclass(slots=True)
class _RecordGroup:
    """Records that are read together, and what is kept with them."""

    arrivals: list[Arrival]
    lost: list[Reject]
    places: dict[str, FileState]
    parsing: Future[list[ParsedDocument]]


class TopicAcceptor:
    """One topic and its journal, on one thread."""

    ignored: tuple[str, ...] = ()
    """Nothing of a topic is left out."""

    def __init__(self, reader: TopicReader, intake: Intake) -> None:
        self._reader = reader
        self._intake = intake
        self._ends = reader.ends()
        """Where the partitions ended when the run began."""
        self._whole = reader.is_at(self._ends)
        self.taken = Taken()

    def has_work(self) -> bool:
        """Whether there are records that were not taken, by what the last look saw."""
        return not self._whole

    def follow(self, ending: threading.Event) -> None:
        """Take records as they come, until the end."""
        self._take(ending, ending.is_set)

    def drain(self, ending: threading.Event) -> bool:
        """Take the records that were there when the run began; return whether all were taken."""
        self._take(ending, lambda: ending.is_set() or self._reader.is_at(self._ends))
        return self._reader.is_at(self._ends)

    def close(self) -> None:
        self._reader.close()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _take(self, ending: threading.Event, is_over: Callable[[], bool]) -> None:
        pending: deque[_RecordGroup] = deque()
        with ThreadPoolExecutor(self._intake.ahead, "triplecast-parsing") as parsing:
            while not is_over():
                group = self._read(parsing, 0.0 if pending else LOOK_SECONDS)
                self._whole = group is None and not pending
                if group is not None:
                    pending.append(group)
                if pending and (group is None or len(pending) > self._intake.ahead):
                    self._commit(pending.popleft())
            while pending and not ending.is_set():
                self._commit(pending.popleft())
            if pending:
                self._whole = False

    def _read(self, parsing: ThreadPoolExecutor, wait: float) -> _RecordGroup | None:
        records = self._reader.read(GROUP_DOCUMENTS * self._intake.ahead, GROUP_BYTES, wait)  # a job is dear
        lost, self._reader.lost = self._reader.lost, []
        if not records and not lost:
            return None
        arrivals = [read_record(record, self._intake.dataset, self._intake.split) for record in records]
        documents = [each.change for each in arrivals if isinstance(each.change, Document)]
        return _RecordGroup(arrivals, lost, self._reader.states(), parsing.submit(self._intake.parse, documents))

    def _commit(self, group: _RecordGroup) -> None:
        parsed = iter(group.parsing.result())
        changes: list[Draft | str] = []
        rejects = [*group.lost]
        versions = self._versions(group.arrivals)
        repeated = 0
        warnings: list[str] = []
        for arrival in group.arrivals:
            change = arrival.change
            result = next(parsed) if isinstance(change, Document) else None
            if isinstance(change, Reject):
                rejects.append(change)
                continue
            if (late := self._late(arrival, versions)) is not None:
                rejects += late
                repeated += not late
                continue
            if result is None:
                assert isinstance(change, str)
                changes.append(change)
            else:
                changes += result.drafts
                rejects += result.rejects
                warnings += describe_warnings(arrival.record.source, result)
            if arrival.version is not None and arrival.graph is not None and (result is None or result.drafts):
                versions[version_place(arrival.graph)] = FileState(arrival.version, 0, b"", _VERSION)
        reach("kafka.taken")
        accepted = self._intake.journal.commit_changes(changes, group.places | versions, (), rejects)
        self._intake.committed()
        self._reader.commit(self._intake.journal.head())
        new = sum(each.outcome == "accepted" for each in accepted)
        self._intake.tell(self.taken, new, len(accepted) - new + repeated, rejects, warnings)

    def _versions(self, arrivals: Sequence[Arrival]) -> dict[str, FileState]:
        """The publisher's last versions of the graphs whose records have one."""
        places = {version_place(each.graph) for each in arrivals if each.version is not None and each.graph is not None}
        return self._intake.journal.sources(sorted(places)) if places else {}

    def _late(self, arrival: Arrival, versions: dict[str, FileState]) -> list[Reject] | None:
        """None for what comes in time; of what comes again nothing is said, of what comes too late a reject."""
        if arrival.version is None or arrival.graph is None:
            return None
        known = versions.get(version_place(arrival.graph))
        if known is None or known.size < arrival.version:
            return None
        if known.size == arrival.version:
            return []
        reason = f"version {arrival.version} of {arrival.graph[:200]} comes after version {known.size}"
        hint = "send the versions of a document with rising numbers, in order, to one partition"
        return [Reject(arrival.record.source, "gate", reason, hint)]
