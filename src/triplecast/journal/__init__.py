"""The journal: the one durable, total order of everything that changes an answer."""

from triplecast.journal.answers import KeptResult, kept_results
from triplecast.journal.documents import Acceptance, Accepted
from triplecast.journal.interface import JournalReader, RegistryChanges
from triplecast.journal.journal import Journal
from triplecast.journal.reader import BYTES_AT_ONCE, JournalFile, Rejected
from triplecast.journal.record import time_text
from triplecast.journal.writing import Clock, read_clock, system_clock
from triplecast.model.source import SourceState

__all__ = [
    "BYTES_AT_ONCE",
    "Acceptance",
    "Accepted",
    "Clock",
    "Journal",
    "JournalFile",
    "JournalReader",
    "KeptResult",
    "RegistryChanges",
    "Rejected",
    "SourceState",
    "kept_results",
    "read_clock",
    "system_clock",
    "time_text",
]
