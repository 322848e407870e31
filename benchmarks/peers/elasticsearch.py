"""Elasticsearch's server from its published jars (`jars`), run by `java/Percolator.java`."""

from __future__ import annotations

from benchmarks.peers.jars import HERE, compile_java, fetch_jars, newest_jdk, read_pins

VERSION = "7.17.24"
"""The jars of later ones hold no server that starts outside its package."""
_NEWEST_JAVA = 21
_HEAP = "-Xmx4g"


def find_elasticsearch() -> list[str]:
    """The command that starts a node, but for the node's folder. Raises what `fetch_jars` and `newest_jdk` raise."""
    home, feature = newest_jdk(_NEWEST_JAVA)
    title = f"elasticsearch-{VERSION}"
    jars = fetch_jars(title, HERE / "elasticsearch.xml", read_pins(HERE / "elasticsearch-sha256.txt"))
    classes = compile_java(home, feature, "Percolator.java", title, jars)
    return [str(home / "java"), _HEAP, "-XX:+UseSerialGC", "-cp", classes, "Percolator"]
