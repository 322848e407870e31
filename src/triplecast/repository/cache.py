"""The store in a file, so that opening a folder does not read all of its documents again.

The file is a cache: what is damaged, of another format or of another journal is not opened, and the store is built
from the journal again.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from triplecast.errors import StorageFault
from triplecast.index.file import LARGE_FORMAT, TEMPORARY, ArrayFile, Sole, read_arrays, write_arrays
from triplecast.kernels.termbank import TermBank
from triplecast.kernels.triples import SortedTriples
from triplecast.kernels.words import PADDING
from triplecast.model.events import Event, Removal
from triplecast.model.publication import Publication
from triplecast.repository.assembly import Assembled, DocumentIndex

CACHE = "repository.arrays"
"""The file in a folder."""
FORMAT = 1
"""Of the arrays."""


class CachedStore(NamedTuple):
    """What the file has of a journal."""

    assembled: Assembled
    position: int
    """Of its last event."""
    mark: str
    """`mark_of` that event."""
    reached: int
    """The journal has no other event up to here."""


def write_cache(path: Path, cached: CachedStore, sole: Sole = nullcontext) -> None:
    """Replace the file in one step. Raises `StorageFault`."""
    with suppress(OSError):
        for left in path.parent.glob(f"{path.name}.*{TEMPORARY}"):
            left.unlink()
    bank, stored, documents, _ = cached.assembled
    size = bank.size
    end = int(bank.offsets[size])
    bank = bank._replace(text=bank.text[: end + PADDING], offsets=bank.offsets[: size + 1])
    parts = {"bank": bank._asdict(), "stored": stored._asdict(), "documents": documents._asdict()}
    arrays = {f"{part}.{name}": array for part, of in parts.items() for name, array in of.items()}
    notes = {"format": FORMAT, "position": cached.position, "mark": cached.mark, "reached": cached.reached}
    write_arrays(path, ArrayFile(arrays, notes), sole, LARGE_FORMAT)


def read_cache(path: Path) -> CachedStore | None:
    """Map the file; None where it is missing, damaged or of another format."""
    try:
        arrays, notes = (file := read_arrays(path, LARGE_FORMAT)).arrays, file.notes
    except StorageFault:
        return None
    if notes.get("format") != FORMAT:
        return None
    bank = TermBank(*(arrays[f"bank.{name}"] for name in TermBank._fields))
    stored = SortedTriples(*(arrays[f"stored.{name}"] for name in SortedTriples._fields))
    documents = DocumentIndex(*(arrays[f"documents.{name}"] for name in DocumentIndex._fields))
    assembled = Assembled(bank, stored, documents)
    return CachedStore(assembled, notes["position"], notes["mark"], notes["reached"])


def mark_of(event: Event) -> str:
    """A digest by which an event is recognised."""
    parts: list[str | bytes]
    if isinstance(event, Publication):
        parts = [event.graph, str(event.version), event.accepted_at, event.quads]
    elif isinstance(event, Removal):
        parts = [event.graph, str(event.version), event.removed_at]
    else:
        parts = [event.lines]
    state = sha256(f"{type(event).__name__} {event.position}".encode())
    for part in parts:
        state.update(sha256(part.encode() if isinstance(part, str) else part).digest())
    return state.hexdigest()
