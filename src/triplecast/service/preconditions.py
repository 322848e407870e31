"""What must hold of a document for a request to be done (RFC 9110, 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers

from triplecast.engine.serving import DocumentState
from triplecast.service.negotiation import read_tags
from triplecast.service.problems import Problem


@dataclass(frozen=True, slots=True)
class Preconditions:
    """``If-Match`` and ``If-None-Match`` of a request."""

    match: Sequence[str] | None
    none_match: Sequence[str] | None

    @classmethod
    def of(cls, headers: Headers) -> Preconditions:
        """Raises `Problem` 400 for what is no list of entity tags."""
        match, none_match = (", ".join(headers.getlist(name)) or None for name in ("if-match", "if-none-match"))
        return cls(match and read_tags(match), none_match and read_tags(none_match))

    @property
    def is_any(self) -> bool:
        """Whether there is nothing to check."""
        return self.match is None and self.none_match is None

    def knows(self, tag: str) -> bool:
        """Whether the client has the representation with this entity tag: ``If-None-Match`` names it."""
        return any(each in ("*", tag, f"W/{tag}") for each in self.none_match or ())

    def check(self, state: DocumentState | None) -> None:
        """Raises `Problem` 412."""
        if self.match is not None and not _names(self.match, state, weak=False):
            found = "there is no document" if state is None else f"its version is {state.version}"
            raise Problem(412, "the document is not the one that If-Match names", found, "read it again, then decide")
        if self.none_match is not None and _names(self.none_match, state, weak=True):
            raise Problem(412, "there is a document that If-None-Match excludes", mend="read it, then decide")


def _names(tags: Sequence[str], state: DocumentState | None, weak: bool) -> bool:
    """Whether one of the tags is of this version, in whatever form of RDF it was read."""
    if state is None:
        return False
    return any(tag == "*" or _version(tag, weak) == state.tag for tag in tags)


def _version(tag: str, weak: bool) -> str:
    if tag.startswith("W/") and not weak:
        return ""
    return tag.removeprefix("W/").strip('"').partition(".")[0]
