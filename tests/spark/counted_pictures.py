"""The box's count of objects, with a record of its own of each call: in a module that every worker can import."""

from __future__ import annotations

import os

from pyoxigraph import NamedNode

from triplecast.operators import PublicationView, operator
from triplecast.operators.box import pictures

COUNTED = "https://example.org/counted#"
RECORD = "urn:record"
"""The attachment that says into which file a call writes its line."""


@operator(COUNTED + "objects", version="1", arguments=("bound", "free"), cost=0.02)
def objects(event: PublicationView, picture: NamedNode) -> int:
    """How many objects stand out from a picture's background."""
    line = f"{os.getpid()} {event.publication.value} {picture.value}\n"
    record = os.open(event.attachment(RECORD), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(record, line.encode())
    finally:
        os.close(record)
    return pictures.objects(event, picture)
