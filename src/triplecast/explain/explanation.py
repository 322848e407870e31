"""Explanations, their readable form and their JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from triplecast.evaluate.messages import EvaluationInput, read_input, read_wanted, write_input
from triplecast.evaluate.unknown import Wanted
from triplecast.model.answers import GroundCall
from triplecast.model.html import text_html
from triplecast.model.printable import printable
from triplecast.model.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one pair matches, or where it fails; `str` is the readable form."""

    subscription: str
    publication: str
    """The graph IRI."""
    version: int
    """0 for a document that was not accepted; the readable form omits it."""
    matched: bool
    undecided: str | None
    """Why the pair is undecided; None when it is decided."""
    solutions: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The first solutions, each of (variable, term in N-Triples form)."""
    solution_count: int = 0
    support: tuple[str, ...] = ()
    """The triples and conditions that the first solution of a match rests on, in the query's prefixes."""
    failure: str | None = None
    """The first part of the query without solutions, if nothing matches."""
    instead: tuple[str, ...] = ()
    """What the publication has where that part fails; for a UNION, where each alternative fails."""

    def __str__(self) -> str:
        verdict = "is undecided on" if self.undecided else "matches" if self.matched else "does not match"
        version = f" (version {self.version})" if self.version else ""
        lines = [f"{self.subscription} {verdict} {self.publication}{version}"]
        if self.undecided:
            lines.append(f"  {self.undecided}")
        if self.matched:
            lines.append(f"  {self.solution_count} solution{'' if self.solution_count == 1 else 's'}:")
            for solution in self.solutions:
                lines.append("    " + (", ".join(f"?{name} = {term}" for name, term in solution) or "(binds nothing)"))
            if self.solution_count > len(self.solutions):
                lines.append("    …")
        if self.support:
            lines.append("  the first because of:" if self.solution_count > 1 else "  because of:")
        if self.failure:
            lines.append(f"  fails at: {self.failure}")
        if self.instead:
            lines.append("  the publication has:")
        lines += [f"    {line}" for line in (*self.support, *self.instead)]
        return printable("\n".join(lines))

    def _repr_html_(self) -> str:
        return text_html(str(self))


def write_explanation(explanation: Explanation) -> bytes:
    return json.dumps(asdict(explanation)).encode()


def read_explanation(written: bytes) -> Explanation:
    fields = json.loads(written)
    fields["solutions"] = tuple(tuple((name, term) for name, term in solution) for solution in fields["solutions"])
    return Explanation(**{**fields, "support": tuple(fields["support"]), "instead": tuple(fields["instead"])})


class ExplainRequest(NamedTuple):
    """A pair to explain."""

    context: EvaluationInput
    subscription: Subscription
    index_decides: bool
    """`Admission.bounded`."""
    stored: frozenset[GroundCall] = frozenset()
    """The calls in `context.answers` whose results were recorded when the publication was matched."""


def write_explain_request(request: ExplainRequest) -> bytes:
    name, text, language = request.subscription.name, request.subscription.text, request.subscription.language
    return write_input(request.context, explain=[name, text, language, request.index_decides, sorted(request.stored)])


def read_explain_request(message: bytes) -> ExplainRequest:
    context, fields = read_input(message)
    name, text, language, index_decides, calls = fields["explain"]
    stored = frozenset(GroundCall(iri, tuple(arguments)) for iri, arguments in calls)
    return ExplainRequest(context, Subscription(name, text, language), index_decides, stored)


def read_open_rows(answer: bytes) -> tuple[Wanted, ...] | None:
    """The rows that wait for operators; None where `answer` is an explanation."""
    return read_wanted(answer) if answer.startswith(b"[") else None
