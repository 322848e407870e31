"""Compiling the kernels in a child process, which can be ended at once where a compile in this one cannot.

``python -m triplecast.warming`` compiles them at set-up.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from triplecast.sqlite import storage_faults

_TOLD_AFTER = 2.5
"""Seconds after which it is a compile: loading what is compiled takes one."""

_COMMAND = (sys.executable, "-m", "triplecast.kernels.warm")


def find_mark() -> Path:
    """The file that says, once it is there: all kernels have been compiled for this installation.

    numba keeps what it compiles by the path of the source, so that of another installation is of no use to this one.
    """
    import triplecast.kernels

    place = Path(triplecast.kernels.__file__).parent
    return triplecast.kernels.CACHE_FOLDER / f"compiled-{hashlib.sha256(bytes(place)).hexdigest()[:16]}"


def compile_kernels(tell: Callable[[str], None], stopped: Callable[[], bool] = lambda: False) -> None:
    """Sees that all kernels are compiled, and tells when that takes time; ends early when `stopped`.

    Where the child fails, nothing is said: whoever needs a kernel compiles it then and meets the fault itself.
    """
    mark = find_mark()
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


def compile_here() -> None:
    """In this process, with the compiler's faults shown; `find_mark` exists afterwards."""
    from triplecast.kernels.warm import warm

    began = time.monotonic()
    names = warm()
    find_mark().touch()
    print(f"kernels ready in {time.monotonic() - began:.1f} s: {', '.join(names)}")


if __name__ == "__main__":
    compile_here()
