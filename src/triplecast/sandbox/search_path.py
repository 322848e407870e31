"""The module search path of this process, as absolute paths for another process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def search_path(modules: Iterable[str] = ()) -> tuple[str, ...]:
    """Return `sys.path` as absolute paths, in order; its empty entry (``python -c``, a prompt, a notebook, a script on
    stdin) is the current folder. The folders of those `modules` that are imported already follow, since this process
    may have changed its folder or path since."""
    found: dict[str, None] = {}
    for each in sys.path:
        if isinstance(each, str):  # Python skips others
            with contextlib.suppress(FileNotFoundError):  # a current folder that was deleted
                found[os.path.abspath(each)] = None
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file is not None:
            folder = Path(file).parent
            found[str(folder.parent if hasattr(top, "__path__") else folder)] = None
    return tuple(found)
