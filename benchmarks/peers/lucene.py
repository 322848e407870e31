"""Lucene from its published jars, run by `java/Peer.java`: what must be there, and the command that starts an engine.

Maven's client fetches the jars by their coordinates (`java/pom.xml`) into a cache outside the repository, and each must
have the SHA-256 that `java/sha256.txt` pins. Nothing here names a registry: Maven knows its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.cache import LeftOut, cache_folder

_HERE = Path(__file__).parent / "java"
RELEASES = (("10.3.0", 21), ("9.11.1", 11))
"""Versions of Lucene with the least Java that each runs on; the first that runs is taken."""
_HEAP = "-Xmx4g"


@dataclass(frozen=True, slots=True)
class Lucene:
    java: Path
    feature: int
    """Java's version."""
    classes: str
    """The class path."""

    def command(self, way: str, folder: Path) -> list[str]:
        """One thread and a collector without threads of its own; the compiler's threads are Java's."""
        fast = ["--add-modules", "jdk.incubator.vector"] if self.feature >= 21 else []
        fast += ["--enable-native-access=ALL-UNNAMED"] if self.feature >= 22 else []
        options = [_HEAP, "-XX:+UseSerialGC", *fast, "-cp", self.classes]
        return [str(self.java), *options, "Peer", way, str(folder)]


def find_lucene() -> Lucene:
    """Raises LeftOut with the reason when a piece is missing, ValueError when a jar is not the pinned one."""
    home, feature = _newest_jdk()
    version = next((version for version, least in RELEASES if feature >= least), None)
    if version is None:
        raise LeftOut(f"Java {feature} is too old; {RELEASES[-1][1]} or later is needed")
    jars = _fetch(version)
    classes = cache_folder(f"lucene-{version}-java-{feature}-classes")
    finished = subprocess.run(
        [home / "javac", "-nowarn", "-cp", f"{jars}/*", "-d", classes, _HERE / "Peer.java"],
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        raise RuntimeError(f"javac of {_HERE / 'Peer.java'} failed:\n{finished.stderr}")
    return Lucene(home / "java", feature, f"{classes}:{jars}/*")


def _newest_jdk() -> tuple[Path, int]:
    """Folder of ``java`` and ``javac``, and their version."""
    on_path = shutil.which("javac")
    folders = [Path(os.environ["JAVA_HOME"]) / "bin"] if "JAVA_HOME" in os.environ else []
    folders += [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/jvm").glob("*/bin"))
    found = [(_java_version(folder), folder) for folder in folders if (folder / "javac").exists()]
    if not found:
        raise LeftOut("no Java development kit (javac) on the path, in JAVA_HOME or in /usr/lib/jvm")
    feature, folder = max(found)
    return folder, feature


def _java_version(folder: Path) -> int:
    """``javac 17.0.1`` → 17."""
    told = subprocess.run([folder / "javac", "-version"], capture_output=True, text=True).stdout
    return int(told.split()[-1].split(".")[0])


def _fetch(version: str) -> Path:
    folder = cache_folder(f"lucene-{version}")
    pinned = {name: digest for digest, name in _pins() if version in name}
    if not all((folder / name).exists() for name in pinned):
        _run_maven(version, folder)
    for name, digest in pinned.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ValueError(
                f"{folder / name} is not the jar that {_HERE / 'sha256.txt'} pins; remove it and run again"
            )
    for jar in folder.glob("*.jar"):
        if jar.name not in pinned:
            raise ValueError(f"{jar} is not pinned in {_HERE / 'sha256.txt'}; remove it and run again")
    return folder


def _pins() -> list[tuple[str, str]]:
    lines = (_HERE / "sha256.txt").read_text("ascii").splitlines()
    return [(digest, name) for digest, name in (line.split() for line in lines)]


def _run_maven(version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise LeftOut("Maven (mvn) is not installed, which fetches Lucene's jars")
    said = [f"-Dlucene.version={version}", f"-DoutputDirectory={folder}"]
    command = [
        maven,
        "--batch-mode",
        "--quiet",
        "--file",
        str(_HERE / "pom.xml"),
        "dependency:copy-dependencies",
        *said,
    ]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise LeftOut(f"Maven could not fetch Lucene {version}: no network, or no registry that has it")
