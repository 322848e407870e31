"""The folder of compiled kernels, which all processes share whose kernels are the same.

Its name carries a digest of *all* kernel sources and of whatever else decides the machine code. numba's own cache
notices an edit only in the module of the cached function, not in a module that this one calls.

numba loads its cache by pickle: a folder that another user could write to is never used.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding

from triplecast.text.breaks import Break


def source_digest(folder: Path, made_with: Iterable[str]) -> str:
    """16 hexadecimal digits over every ``*.py`` of `folder` (name and bytes, in name order) and the strings
    `made_with`.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in made_with:
        digest.update(f"{part}\0".encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def choose_folder(name: str, environment: Mapping[str, str], home: Path, temporary: Path) -> Path:
    """The first usable parent's folder `name`, made if it was missing.

    Parents in order: ``TRIPLECAST_CACHE``; ``XDG_CACHE_HOME/triplecast`` (only when absolute, as the XDG specification
    asks); ``~/.cache/triplecast``; a folder of this user in `temporary`; a fresh temporary folder, which always works
    but is not shared.
    """
    parents = [temporary / f"triplecast-{_user_number()}"]
    if home.is_absolute():
        parents.insert(0, home / ".cache" / "triplecast")
    if os.path.isabs(environment.get("XDG_CACHE_HOME", "")):
        parents.insert(0, Path(environment["XDG_CACHE_HOME"]) / "triplecast")
    if environment.get("TRIPLECAST_CACHE"):
        parents.insert(0, Path(environment["TRIPLECAST_CACHE"]).absolute())
    for parent in parents:
        if _is_usable(parent / name, open_to_all=temporary):
            return parent / name
    return Path(tempfile.mkdtemp(prefix="triplecast-", dir=temporary)) / name


def _is_usable(folder: Path, open_to_all: Path) -> bool:
    """Make `folder`; true if a file can be made in it and no other user can write to it. Of an installation that is
    read only, it is enough that kernels were compiled in it.

    Below `open_to_all`, where anyone may have made the parent before us, the parent has to be ours alone as well.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        private = (folder, folder.parent) if folder.parent.parent == open_to_all else (folder,)
        for path in private:
            status = path.lstat()
            if hasattr(os, "getuid") and (status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022):
                return False
    except OSError:
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return any(folder.glob("*.compiled"))


def _user_number() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _find_cache() -> Path:
    cpu = llvmlite.binding
    features = cpu.get_host_cpu_features().flatten()
    breaks = " ".join(f"{kind.name}={kind:d}" for kind in Break)
    python = sys.implementation.cache_tag or sys.version
    made_with = (python, version("numba"), cpu.get_process_triple(), cpu.get_host_cpu_name(), features, breaks)
    name = f"kernels-{source_digest(Path(__file__).parent, made_with)}"
    return choose_folder(name, os.environ, Path(os.path.expanduser("~")), Path(tempfile.gettempdir()))


CACHE_FOLDER = _find_cache()
"""Where this process keeps compiled kernels."""
