"""The errors that Triplecast raises. Each carries fields; its message is made of them and ends with the fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TAG_HINT = "join letters and digits, eight at most, by hyphens, as in en-US"
"""What to write for a language tag that is none."""
CYCLE_SHOWN = 10
"""Terms shown from each end of a long cycle."""


class TriplecastError(Exception):
    """The base class of all errors that Triplecast raises on purpose."""

    receipts: tuple[object, ...] = ()
    """Set by `Engine.publish_many`: the receipts of the documents published before the error, in order."""


@dataclass
class QuerySyntaxError(TriplecastError):
    """A query that does not follow its language's grammar."""

    message: str
    line: int
    column: int
    """Both count from 1."""
    expected: tuple[str, ...]
    source_line: str
    name: str | None = None
    """The subscription's id or path, when known."""

    def __str__(self) -> str:
        where = f"{self.name}:" if self.name else "line "
        wanted = f"\nexpected: {', '.join(self.expected)}" if self.expected else ""
        start = max(0, self.column - 81) if len(self.source_line) > 160 else 0
        shown = self.source_line[start : start + 160]
        caret = " " * (self.column - 1 - start) + "^"
        return f"{where}{self.line}:{self.column}: {self.message}\n  {shown}\n  {caret}{wanted}"


@dataclass
class QueryRefused(TriplecastError):
    """A well-formed query that Triplecast does not answer."""

    construct: str
    """What is refused, e.g. ``SERVICE``."""
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
    """A broad subscription of an owner who holds the maximum already; it is accepted once another one is cancelled."""

    owner: str | None = None
    """None for the subscriptions that name no owner, which share one quota."""
    held: int = 0
    quota: int = 0


@dataclass
class QueryTooLarge(TriplecastError):
    """A query over the current documents that takes more than it may."""

    steps: int
    """As many as it may take."""
    found: str
    hint: str = "bind more of its terms, or allow more steps"

    def __str__(self) -> str:
        return f"the query is too large: {self.found}; {self.hint}"


@dataclass
class DocumentRejected(TriplecastError):
    """A document, or part of one, that cannot be published."""

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
    """A taxonomy with a class, property or concept above itself."""

    kind: str
    """``classes``, ``properties`` or ``concepts``."""
    terms: tuple[str, ...]
    """In N-Triples form: each is directly under the next, and the last is under the first."""

    def __str__(self) -> str:
        terms = self.terms
        if len(terms) > 2 * CYCLE_SHOWN:
            between = f"({len(terms) - 2 * CYCLE_SHOWN:,} more)"
            terms = (*terms[:CYCLE_SHOWN], between, *terms[-CYCLE_SHOWN:])
        shown = " under ".join((*terms, terms[0]))
        return f"the taxonomy has a cycle of {self.kind}: {shown}; remove one of these steps and load it again"


@dataclass
class FolderLocked(TriplecastError):
    """A folder that another writer uses: another process, or an engine or run in this one."""

    folder: str
    holder: str
    """Process id, host and start time of the writer."""
    hint: str = "stop that process or choose another folder"

    def __str__(self) -> str:
        return f"{self.folder} is in use by {self.holder}; {self.hint}"


@dataclass
class ReplicaWritten(FolderLocked):
    """A write given to a replica."""

    hint: str = "write there, or make a provider of this one: triplecast replicate --into DIR --promote"

    def __str__(self) -> str:
        return f"{self.folder} is a replica of {self.holder}; {self.hint}"


@dataclass
class StorageFault(TriplecastError):
    """A stored file that is damaged, has an unknown format, or cannot be written."""

    path: str
    found: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.found}; {self.hint}"


class StorageFull(StorageFault):
    """No space is left to write. Nothing was acknowledged; repeat the call once there is space."""


@dataclass
class InputError(TriplecastError):
    """An argument that cannot be used: a missing folder, an unknown option value, an id given twice."""

    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}" if self.hint else self.what


class IdInUse(InputError):
    """The id of a live subscription, given to another one."""


REFUSED = "no request to "
"""How an `EgressRefused` begins."""


@dataclass
class EgressRefused(TriplecastError):
    """A request that may not leave this machine: its URL, its port or its address is none that is allowed."""

    target: str
    """Scheme, host and port, without what may be a secret."""
    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{REFUSED}{self.target}: {self.reason}; {self.hint}"


@dataclass
class EgressFailed(TriplecastError):
    """A request without an answer: nobody listened, no answer came in time, or none that is HTTP."""

    target: str
    reason: str
    hint: str = "see whether it runs, and try again later"

    def __str__(self) -> str:
        return f"no answer from {self.target}: {self.reason}; {self.hint}"


@dataclass
class PipelineFailed(TriplecastError):
    """Spark, its JVM, one of its workers or a client of Kafka ended. The next start matches what the journal has
    accepted."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.hint}"


@dataclass
class ServiceRefused(TriplecastError):
    """What a service answered to a client instead of doing it."""

    status: int
    """Of HTTP: from 500 on, and at 429, the same may be done later."""
    what: str
    mend: str
    retry_after: float | None = None
    """Seconds after which the service wants to be asked again."""
    problem: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All that it said (RFC 9457)."""

    def __str__(self) -> str:
        return f"{self.status}: {self.what}" + (f"; {self.mend}" if self.mend else "")


@dataclass
class HistoryPruned(TriplecastError):
    """Notifications that a client had not read are gone, or were recorded again under other sequences."""

    cursor: str
    """Where to go on from: `since` of the next call."""
    reason: str

    def __str__(self) -> str:
        return f"{self.reason}; read again what you need, and go on from {self.cursor}"


class OperatorWarning(UserWarning):
    """Live subscriptions call operators that are unavailable, or whose arguments have changed. Pairs of an unavailable
    operator stay pending; a subscription that uses an operator's old arguments matches nothing."""


@dataclass
class SandboxFailed(TriplecastError):
    """The child process that parses or evaluates did not start. Nothing that was accepted is lost: the next call that
    writes, or the next start, evaluates the subscriptions left out."""

    function: str
    """The function that the child was to run, as ``package.module:name``."""
    reason: str
    hint: str = "check that this Python can start processes and import triplecast (`triplecast doctor`)"

    def __str__(self) -> str:
        return f"the sandbox process for {self.function} did not start: {self.reason}; {self.hint}"
