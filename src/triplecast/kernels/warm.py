"""Compile every kernel before the first publication: ``python -m triplecast.kernels.warm`` at set-up.

A kernel module that has kernels called from Python defines ``warm_up()``: it calls each of them once on tiny input of
the exact types of production. It is found by its name; there is no list to forget it on.
"""

from __future__ import annotations

import importlib
import pkgutil
import time

import triplecast.kernels


def warm() -> tuple[str, ...]:
    """Run ``warm_up`` of every module of this package, in name order; returns the names of the modules that had one."""
    warmed = []
    for module in sorted(pkgutil.iter_modules(triplecast.kernels.__path__), key=lambda module: module.name):
        if module.name == "warm":
            continue
        warm_up = getattr(importlib.import_module(f"triplecast.kernels.{module.name}"), "warm_up", None)
        if warm_up is not None:
            warm_up()
            warmed.append(module.name)
    return tuple(warmed)


if __name__ == "__main__":
    start = time.perf_counter()
    names = warm()
    print(
        f"kernels ready in {time.perf_counter() - start:.1f} s: {', '.join(names)} ({triplecast.kernels.CACHE_FOLDER})"
    )
