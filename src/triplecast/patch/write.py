"""Write RDF Patch text."""

from __future__ import annotations

from triplecast.patch.patch import Patch


def write_patch(patch: Patch) -> bytes:
    """A patch as text: its header, then its transaction. Several of them are one after the other."""
    header = "".join(f"H {name} {term} .\n" for name, term in patch.header.items()).encode()
    rows = b"".join((b"A " if row.is_added else b"D ") + row.quad for row in patch.rows)
    return b"%bTX .\n%bTC .\n" % (header, rows)
