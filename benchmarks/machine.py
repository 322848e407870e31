"""Where and on what the figures were measured."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_RESULTS = ":(exclude,glob)**/results/**"
"""What runs write takes no part in them."""
PACKAGES = ("numba", "numpy", "pyoxigraph", "pyspark", "pyarrow")


@dataclass(frozen=True, slots=True)
class Machine:
    commit: str
    """With ``+`` when files that it does not hold took part."""
    processor: str
    cores: int
    memory_gib: float
    system: str
    versions: dict[str, str]


def describe_machine(root: Path, folders: Sequence[str] = ("src", "benchmarks")) -> Machine:
    """`folders` hold what takes part in the figures."""
    return Machine(
        commit=_commit(root, folders),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        versions={"python": platform.python_version(), **_versions()},
    )


def _commit(root: Path, folders: Sequence[str]) -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=all", "--", *folders, _RESULTS)
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
