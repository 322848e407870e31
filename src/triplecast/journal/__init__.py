"""The journal: the one durable, total order of everything that changes an answer."""

from triplecast.journal.journal import Acceptance, Accepted, Clock, Journal, read_clock, system_clock
from triplecast.journal.reader import BYTES_AT_ONCE, JournalReader, RegistryChanges, Rejected
from triplecast.journal.record import time_text
from triplecast.journal.writer_lock import read_address
from triplecast.model.file_state import FileState

__all__ = [
    "BYTES_AT_ONCE",
    "Acceptance",
    "Accepted",
    "Clock",
    "FileState",
    "Journal",
    "JournalReader",
    "RegistryChanges",
    "Rejected",
    "read_address",
    "read_clock",
    "system_clock",
    "time_text",
]
