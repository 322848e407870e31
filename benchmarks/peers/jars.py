"""Java for peers: the newest kit on this machine, and published jars.

Maven's client fetches the jars by their coordinates (a pom in `java/`) into a cache outside the repository, and each
must have the SHA-256 that a file in `java/` pins. Nothing here names a registry: Maven knows its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.cache import LeftOut, cache_folder

HERE = Path(__file__).parent / "java"


def newest_jdk(most: int = sys.maxsize) -> tuple[Path, int]:
    """Folder of ``java`` and ``javac``, and their version, which is `most` or less. Raises LeftOut."""
    on_path = shutil.which("javac")
    folders = [Path(os.environ["JAVA_HOME"]) / "bin"] if "JAVA_HOME" in os.environ else []
    folders += [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/jvm").glob("*/bin"))
    found = [(_java_version(folder), folder) for folder in folders if (folder / "javac").exists()]
    fitting = [each for each in found if each[0] <= most]
    if not fitting:
        raise LeftOut("no fitting Java development kit (javac) on the path, in JAVA_HOME or in /usr/lib/jvm")
    feature, folder = max(fitting)
    return folder, feature


def _java_version(folder: Path) -> int:
    """``javac 17.0.1`` → 17."""
    told = subprocess.run([folder / "javac", "-version"], capture_output=True, text=True).stdout
    return int(told.split()[-1].split(".")[0])


def read_pins(file: Path) -> dict[str, str]:
    """SHA-256 by the name of a jar."""
    lines = file.read_text("ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def fetch_jars(title: str, pom: Path, pinned: Mapping[str, str], said: Sequence[str] = ()) -> Path:
    """A folder with the pinned jars and no other. Raises LeftOut, and ValueError when a jar is not the pinned one."""
    folder = cache_folder(title)
    if not all((folder / name).exists() for name in pinned):
        _run_maven(title, pom, [*said, f"-DoutputDirectory={folder}"])
    for name, digest in pinned.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ValueError(f"{folder / name} is not the jar that is pinned in {HERE}; remove it and run again")
    for jar in folder.glob("*.jar"):
        if jar.name not in pinned:
            raise ValueError(f"{jar} is not pinned in {HERE}; remove it and run again")
    return folder


def _run_maven(title: str, pom: Path, said: Sequence[str]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise LeftOut(f"Maven (mvn) is not installed, which fetches the jars of {title}")
    command = [maven, "--batch-mode", "--quiet", "--file", str(pom), "dependency:copy-dependencies", *said]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise LeftOut(f"Maven could not fetch {title}: no network, or no registry that has it")


def compile_java(home: Path, feature: int, source: str, title: str, jars: Path) -> str:
    """Compile a source of `java/`; return the class path with the jars."""
    classes = cache_folder(f"{title}-java-{feature}-classes")
    finished = subprocess.run(
        [home / "javac", "-nowarn", "-cp", f"{jars}/*", "-d", classes, HERE / source], capture_output=True, text=True
    )
    if finished.returncode:
        raise RuntimeError(f"javac of {HERE / source} failed:\n{finished.stderr}")
    return f"{classes}:{jars}/*"
