"""Operators that note each of their calls, in a module that every worker can import."""

from __future__ import annotations

import os

from pyoxigraph import NamedNode

from triplecast.operators import PublicationView, operator

NOTING = "https://example.org/noting#"
NOTES = "urn:notes"
"""The attachment that says into which file a call writes its name."""


@operator(NOTING + "often", version="1", arguments=("bound",), cost=0.001)
def often(event: PublicationView, resource: NamedNode) -> bool:
    """Always true, and declared the cheaper."""
    note(event, "often")
    return True


@operator(NOTING + "rarely", version="1", arguments=("bound",), cost=0.0015)
def rarely(event: PublicationView, resource: NamedNode) -> bool:
    """Never true."""
    note(event, "rarely")
    return False


def note(event: PublicationView, name: str) -> None:
    notes = os.open(event.attachment(NOTES), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(notes, f"{name}\n".encode())
    finally:
        os.close(notes)
