"""Where fetched peers are kept: a folder outside the repository; and the reason when a peer cannot take part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CLIPSPY = "clipspy==1.0.6"
MOKACCINO = "mokaccino==0.9.1"


class LeftOut(Exception):
    """A peer that this machine cannot run; its text is the reason."""


def cache_folder(name: str) -> Path:
    """Below ``$TRIPLECAST_PEERS``, else ``triplecast-peers`` in the user's cache; made when it is not there."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("TRIPLECAST_PEERS") or Path(user) / "triplecast-peers") / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fetch_clips() -> Path:
    """A folder to import clipspy from, no part of the environment; raises LeftOut."""
    return _fetch(CLIPSPY, "clips")


def fetch_mokaccino() -> Path:
    """A folder to import mokaccino from; raises LeftOut."""
    return _fetch(MOKACCINO, "mokaccino")


def _fetch(pinned: str, package: str) -> Path:
    folder = cache_folder(f"{pinned}-{sys.implementation.cache_tag}")
    if not (folder / package).exists():
        install = [sys.executable, "-m", "pip", "--quiet", "install", "--only-binary", ":all:", "--target", str(folder)]
        finished = subprocess.run([*install, pinned], capture_output=True, text=True)
        if finished.returncode:
            raise LeftOut(f"pip could not install {pinned}: no network, or no wheel for this Python")
    return folder
