"""An operator for runs that are killed: in a module of its own, which every worker can import."""

from __future__ import annotations

from pyoxigraph import NamedNode

from triplecast.operators import PublicationView, operator


@operator("https://example.org/chaos#quads", version="1", arguments=("bound", "free"))
def quads(event: PublicationView, resource: NamedNode) -> int:
    """How many quads speak of a resource."""
    return sum(quad.subject == resource for quad in event.graph)
