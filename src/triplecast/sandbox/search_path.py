"""Where this process finds modules, in words that another process understands."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def search_path(modules: Iterable[str] = ()) -> tuple[str, ...]:
    """`sys.path` as absolute paths, in its order: its empty entry (``python -c``, a prompt, a notebook, a script on
    stdin) is the current folder. Behind it stand the folders from which those of `modules` came that this process has
    imported, since it may have changed its folder or its path after that."""
    found: dict[str, None] = {}
    for each in sys.path:
        if isinstance(each, str):  # Python passes others by
            with contextlib.suppress(FileNotFoundError):  # a current folder that is no more
                found[os.path.abspath(each)] = None
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file is not None:
            folder = Path(file).parent
            found[str(folder.parent if hasattr(top, "__path__") else folder)] = None
    return tuple(found)
