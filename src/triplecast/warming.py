"""Compiling the kernels in a child process, which can be ended at once where a compile in this one cannot."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from triplecast.database import storage_faults

MARK = "compiled"
"""A file in the kernels' cache folder that says: all of them have been compiled to it."""

_TOLD_AFTER = 2.5
"""Seconds after which it is a compile: loading what is compiled takes one."""

_COMMAND = (sys.executable, "-m", "triplecast.kernels.warm")


def compile_kernels(tell: Callable[[str], None], stopped: Callable[[], bool] = lambda: False) -> None:
    """Sees that all kernels are compiled, and tells when that takes time; ends early when `stopped`.

    Where the child fails, nothing is said: whoever needs a kernel compiles it then and meets the fault itself.
    """
    from triplecast.kernels import CACHE_FOLDER

    mark = CACHE_FOLDER / MARK
    if mark.exists():
        return
    began, told = time.monotonic(), False
    with subprocess.Popen(
        _COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            while child.poll() is None:
                if stopped():
                    return
                if not told and time.monotonic() - began > _TOLD_AFTER:
                    told = True
                    tell("compiling kernels (once; one or two minutes) ...")
                time.sleep(0.05)
        finally:
            child.kill()
    if child.returncode == 0:
        with storage_faults(mark):
            mark.touch()
