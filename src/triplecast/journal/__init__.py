"""The journal: the one durable, total order of everything that changes an answer."""

from triplecast.journal.cutting import NOTHING_DROPPED, Acceptance, Accepted, Dropped
from triplecast.journal.interface import RegistryChanges
from triplecast.journal.journal import Journal
from triplecast.journal.parts import HeldGraph, PartChange
from triplecast.journal.reader import JournalFile, Rejected
from triplecast.journal.record import Clock, read_clock, system_clock, time_text
from triplecast.journal.records import BYTES_AT_ONCE, ReplicatedRecord
from triplecast.journal.writer_lock import read_address
from triplecast.model.publication import FileState

__all__ = [
    "BYTES_AT_ONCE",
    "NOTHING_DROPPED",
    "Acceptance",
    "Accepted",
    "Clock",
    "Dropped",
    "FileState",
    "HeldGraph",
    "Journal",
    "JournalFile",
    "PartChange",
    "RegistryChanges",
    "Rejected",
    "ReplicatedRecord",
    "read_address",
    "read_clock",
    "system_clock",
    "time_text",
]
