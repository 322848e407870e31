"""Every error a caller can meet. Fields first; the message derives from them and says what to do."""

from __future__ import annotations

from dataclasses import dataclass

CYCLE_SHOWN = 10
"""Terms of a long cycle that its message names, from its beginning and from its end."""


class TriplecastError(Exception):
    """The root of all errors that Triplecast raises on purpose."""

    receipts: tuple[object, ...] = ()
    """Of one that `Engine.publish_many` raised: the receipts of the documents that were done before it, in order."""


@dataclass
class QuerySyntaxError(TriplecastError):
    """A query that is not in its language's grammar."""

    message: str
    line: int
    column: int
    """Both count from 1."""
    expected: tuple[str, ...]
    source_line: str
    name: str | None = None
    """What the user calls the subscription (a path, an id), when known."""

    def __str__(self) -> str:
        where = f"{self.name}:" if self.name else "line "
        wanted = f"\nexpected: {', '.join(self.expected)}" if self.expected else ""
        start = max(0, self.column - 81) if len(self.source_line) > 160 else 0
        shown = self.source_line[start : start + 160]
        caret = " " * (self.column - 1 - start) + "^"
        return f"{where}{self.line}:{self.column}: {self.message}\n  {shown}\n  {caret}{wanted}"


@dataclass
class QueryRefused(TriplecastError):
    """A query that is well formed but that Triplecast does not answer."""

    construct: str
    """The name of what is refused, e.g. ``SERVICE``."""
    reason: str
    hint: str
    line: int | None = None
    column: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        where = f"{self.name}: " if self.name else ""
        return f"{where}{place}{self.construct} is refused: {self.reason}; {self.hint}"


@dataclass
class QuotaReached(QueryRefused):
    """A broad subscription of an owner who holds as many as one may; the same one is taken once a place is free."""

    owner: str | None = None
    """None: of all subscriptions that name no owner."""
    held: int = 0
    quota: int = 0


@dataclass
class DocumentRejected(TriplecastError):
    """A document, or a part of one, that cannot become a publication."""

    stage: str
    reason: str
    hint: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        column = f":{self.column}" if self.column is not None else ""
        place = f"line {self.line}{column}: " if self.line is not None else ""
        return f"{self.stage}: {place}{self.reason}; {self.hint}"


@dataclass
class TaxonomyCycle(TriplecastError):
    """A taxonomy in which something is above itself."""

    kind: str
    """``classes``, ``properties`` or ``concepts``."""
    terms: tuple[str, ...]
    """In N-Triples form, each directly under the next, the last under the first."""

    def __str__(self) -> str:
        terms = self.terms
        if len(terms) > 2 * CYCLE_SHOWN:
            between = f"({len(terms) - 2 * CYCLE_SHOWN:,} more)"
            terms = (*terms[:CYCLE_SHOWN], between, *terms[-CYCLE_SHOWN:])
        shown = " under ".join((*terms, terms[0]))
        return f"the taxonomy has a cycle of {self.kind}: {shown}; remove one of these steps and load it again"


@dataclass
class FolderLocked(TriplecastError):
    """Another writer has this folder: another process, or an engine or run of this one."""

    folder: str
    holder: str
    """Who holds it: process id, host and start time."""
    hint: str = "stop that process or choose another folder"

    def __str__(self) -> str:
        return f"{self.folder} is in use by {self.holder}; {self.hint}"


@dataclass
class StorageFault(TriplecastError):
    """A stored file is damaged, of an unknown format, or cannot be written."""

    path: str
    found: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.found}; {self.hint}"


class StorageFull(StorageFault):
    """There is no space to write; nothing was acknowledged, and the same call works once there is space."""


@dataclass
class InputError(TriplecastError):
    """Something the user named cannot be used: a missing folder, an unknown option value, an id given twice."""

    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}"


@dataclass
class PipelineFailed(TriplecastError):
    """Spark, its JVM or one of its workers ended; what was accepted is in the journal; the next start matches it."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.hint}"


class OperatorWarning(UserWarning):
    """Operators that standing subscriptions ask cannot be asked as things are: who asks them waits, or is asked nothing
    any more where they take other arguments now."""


@dataclass
class SandboxFailed(TriplecastError):
    """The child process that parses or evaluates cannot be started. What a publication was to be asked, it is asked by
    the next call that writes, or the next start: nothing that was accepted is lost."""

    function: str
    """What the child was to run, ``package.module:name``."""
    reason: str
    hint: str = "see that this Python can start processes and import triplecast (`triplecast doctor`)"

    def __str__(self) -> str:
        return f"the sandbox's child for {self.function} did not start: {self.reason}; {self.hint}"
