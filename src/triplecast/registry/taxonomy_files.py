"""The taxonomy files of a run: their content is the taxonomy in the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from triplecast.errors import DocumentRejected, InputError, TaxonomyCycle
from triplecast.ingest.document_files import read_taxonomy_files
from triplecast.journal import Journal
from triplecast.registry.lines import SubscriptionFault

QUIET = 1.0
"""Seconds that files stand still before they are read."""

_State = tuple[tuple[str, int, int], ...]


class TaxonomyFiles:
    """Without paths the taxonomy stays what it is."""

    def __init__(
        self, paths: Sequence[Path], broader: bool, journal: Journal, tell: Callable[[SubscriptionFault], None]
    ) -> None:
        self._paths = paths
        self._broader = broader
        self._journal = journal
        self._tell = tell
        self._read: _State = ()
        self._seen: _State = ()
        self._since = 0.0

    def start(self) -> None:
        """Raises `InputError`, `DocumentRejected` and `TaxonomyCycle`."""
        if self._paths:
            self._read = self._seen = tuple(_states(self._paths))
            self._journal.load_taxonomy(read_taxonomy_files(self._paths, self._broader))

    def look(self, now: float) -> bool:
        """Load what changed, once it stays unchanged; whether anything was read. What cannot be read is reported once
        and leaves the taxonomy as it is."""
        states = tuple(_states(self._paths))
        if states != self._seen:
            self._seen, self._since = states, now
        if states == self._read or now - self._since < QUIET:
            return False
        self._read = states
        try:
            taxonomy = read_taxonomy_files(self._paths, self._broader)
        except (InputError, DocumentRejected, TaxonomyCycle) as error:
            named = ", ".join(map(str, self._paths))
            self._tell(SubscriptionFault(named, str(error), "fix it; the taxonomy before it holds until then"))
            return True
        self._journal.load_taxonomy(taxonomy)
        return True


def _states(paths: Sequence[Path]) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of change of every file, in a stable order; one that went away has none."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
            try:
                state = file.stat()
            except FileNotFoundError:
                continue
            yield str(file), state.st_size, state.st_mtime_ns
