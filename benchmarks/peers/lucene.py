"""Lucene from its published jars (`jars`), run by `java/Peer.java`: the command that starts an engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.cache import LeftOut
from benchmarks.peers.jars import HERE, compile_java, fetch_jars, newest_jdk, read_pins

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
    home, feature = newest_jdk()
    version = next((version for version, least in RELEASES if feature >= least), None)
    if version is None:
        raise LeftOut(f"Java {feature} is too old; {RELEASES[-1][1]} or later is needed")
    title = f"lucene-{version}"
    pinned = {name: digest for name, digest in read_pins(HERE / "sha256.txt").items() if version in name}
    jars = fetch_jars(title, HERE / "pom.xml", pinned, [f"-Dlucene.version={version}"])
    return Lucene(home / "java", feature, compile_java(home, feature, "Peer.java", title, jars))
