"""Files at an address: a prefix of a bucket (``s3://``, ``gs://``, ``abfs://``), or a folder that machines share.

What speaks with the stores is Arrow (`pyarrow.fs`), with the settings and credentials that it takes from environment
and address. A file is whole or not there, and is never changed: who names one names it by a name of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeGuard

from triplecast.errors import InputError, StorageFault
from triplecast.storage_faults import make_folder, sync_folder, tell_fault

_PIECE = 4 << 20
_KNOWN = "give a folder, or an address as s3://BUCKET/PREFIX"
_HINT = "see whether the store answers and the credentials are right, then start again"


class StoredFile(NamedTuple):
    """A file below an address."""

    path: tuple[str, ...]
    """Its name below the address, in parts."""
    size: int
    mtime_ns: int


class Sealed(NamedTuple):
    """By what a file is recognised as the one that was written."""

    size: int
    digest: str
    """BLAKE2b of its bytes."""

    def __str__(self) -> str:
        return f"{self.size} bytes of digest {self.digest}"


def is_address(place: object) -> TypeGuard[str]:
    """Whether a place is named by an address, not by a path of this machine."""
    return isinstance(place, str) and "://" in place


def shown(address: str) -> str:
    """An address as messages name it: without credentials and settings."""
    if not is_address(address):
        return address.rstrip("/")
    scheme, _, rest = address.partition("://")
    named, _, settings = rest.partition("?")
    if "@" in settings and "@" not in named:  # the ? may be one of a secret
        named = ""
    return f"{scheme}://{named.rpartition('@')[2]}".rstrip("/")


class ObjectStore:
    """One address. Methods raise `StorageFault`, which names the file, for what cannot be had or written."""

    def __init__(self, address: str) -> None:
        """Raises InputError for an address that Arrow does not know or that has no bucket, StorageFault where no store
        answers."""
        import pyarrow as pa
        from pyarrow import fs

        self.address = address if is_address(address) else os.path.abspath(address)
        try:
            self._system, root = fs.FileSystem.from_uri(self.address)
        except (pa.ArrowException, OSError, ValueError) as error:
            found = str(error).replace(self.address, shown(self.address))  # Arrow repeats what it cannot parse
            raise InputError(f"the address {shown(address)} cannot be used: {found}", _KNOWN) from None
        self._root = root.rstrip("/")
        if not self._root:
            raise InputError(f"the address {shown(address)} cannot be used: it names no bucket", _KNOWN)
        self._is_local = isinstance(self._system, fs.LocalFileSystem)
        bucket = self._root.partition("/")[0]
        with self._faults(""):
            (found,) = self._system.get_file_info([bucket])
        if found.type == fs.FileType.NotFound and not self._is_local:
            raise InputError(f"the address {shown(self.address)} cannot be used: there is no {bucket}", _KNOWN)

    def list(self, below: str = "") -> list[StoredFile]:
        """List the files below an address, or below a folder there; none where there is no such folder."""
        from pyarrow import fs

        root = self._at(below)
        with self._faults(below):
            found = self._system.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
            start, files = len(root) + 1, [each for each in found if each.type == fs.FileType.File]
            return [StoredFile(tuple(each.path[start:].split("/")), each.size, each.mtime_ns or 0) for each in files]

    def state(self, name: str) -> StoredFile | None:
        """What is known of a file; None where it is not there."""
        from pyarrow import fs

        with self._faults(name):
            (found,) = self._system.get_file_info([self._at(name)])
        if found.type != fs.FileType.File:
            return None
        return StoredFile(tuple(name.split("/")), found.size, found.mtime_ns or 0)

    def copy_to(self, name: str, file: IO[bytes]) -> Sealed:
        """Write what a file holds to an open one; return how what came is recognised."""
        with self._faults(name), self._system.open_input_stream(self._at(name)) as stream:
            return seal(stream, file)

    def write(self, name: str, source: Path | bytes) -> Sealed:
        """Store bytes, or what a file of this machine holds."""
        with self._faults(name), BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            if not self._is_local:
                with self._system.open_output_stream(self._at(name)) as stream:
                    return seal(file, stream)
            place = Path(self._at(name))
            make_folder(place.parent)
            making = place.with_name(f".{place.name}.tmp")
            with making.open("wb") as made:
                sealed = seal(file, made)
                made.flush()
                os.fsync(made.fileno())
            making.replace(place)
            sync_folder(place.parent)
            return sealed

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with self._faults(name):
            if self.state(name) is not None:
                self._system.delete_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextmanager
    def _faults(self, name: str) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # the last by a file's name
            text = " ".join(str(error).split())[:500]
            where = f"{shown(self.address)}/{name}"
            if self._is_local and isinstance(error, OSError):
                tell_fault(where, error)
            raise StorageFault(where, f"cannot be read or written: {text}", _HINT) from error


def seal(source: Any, target: Any = None) -> Sealed:
    """Read a file to its end, and write what it holds to a `target`, if any."""
    digest, size = hashlib.blake2b(digest_size=16), 0
    while piece := source.read(_PIECE):
        digest.update(piece)
        if target is not None:
            target.write(piece)
        size += len(piece)
    return Sealed(size, digest.hexdigest())
