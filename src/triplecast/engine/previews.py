"""What a subscription would have matched, and why a document matches it: nothing is accepted or recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.engine.findings import Findings, Subscriptions
from triplecast.engine.receipt import MATCH_COLUMNS, Match, UndecidedMatch, match_cells
from triplecast.errors import DocumentRejected, InputError
from triplecast.evaluate import Background
from triplecast.explain import Explanation, explain_subscription
from triplecast.index import IndexWriter
from triplecast.ingest import ParsedDocument
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.model.html import table_html
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import REPOSITORY, Registration, RegistrationId, Subscription, check_fields
from triplecast.operators.asking import Asker, match_and_ask
from triplecast.outbox import OutboxBatch
from triplecast.registry.admission import Admission, admit, examine
from triplecast.registry.hearing import refuse_updates
from triplecast.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Preview:
    """What a subscription would have matched."""

    publications: int
    """How many were looked at, the newest ones."""
    matches: Sequence[Match]
    """Its registration is 0 and its notification ids are nobody's."""
    undecided: Sequence[UndecidedMatch]
    cost: str
    warnings: tuple[str, ...]
    seconds: float
    """Between the acceptance of the first and the last publication looked at."""

    @property
    def share(self) -> float:
        """Matches per publication; 0 when there was none to look at."""
        return len(self.matches) / self.publications if self.publications else 0.0

    @property
    def per_day(self) -> float | None:
        """Matches to expect a day, if publications keep coming as they did; None when their times do not tell."""
        return len(self.matches) * 86_400 / self.seconds if self.seconds > 0 else None

    def _repr_html_(self) -> str:
        title = f"{len(self.matches)} of {self.publications} publications match ({self.cost})"
        return table_html(title, MATCH_COLUMNS, match_cells(self.matches))


def admit_preview(subscription: Subscription, operators: OperatorSet, has_taxonomy: Callable[[], bool]) -> Admission:
    """Raises what registering it would raise."""
    check_fields(subscription)
    examined = examine(subscription, operators=operators, has_taxonomy=has_taxonomy)
    refuse_updates(examined.compiled.template, subscription.name)
    return examined.admission


def preview_subscription(
    subscription: Subscription, admission: Admission, last: int, journal: Journal, matcher: Matcher, asker: Asker
) -> Preview:
    """Match one, admitted as `admission`, with the `last` publications, or as many as `BYTES_AT_ONCE` holds."""
    operators = matcher.operators
    publications = journal.last_publications(last, BYTES_AT_ONCE)
    registration = Registration(RegistrationId(0), subscription)
    snapshot = IndexWriter().apply([registration], [], 0, compiler=SubscriptionCompiler(operators))
    first = publications[0].position - 1 if publications else 0
    taxonomies = journal.taxonomies(first, journal.head())
    known = journal.answers(first, journal.head(), operators)
    asked = Subscriptions(np.zeros(1, np.int64), lambda _: {0: subscription})
    findings, positions = Findings(), [each.position for each in publications]
    for of, matched in match_and_ask(matcher, asker, snapshot, publications, taxonomies, known):
        findings.add(OutboxBatch.of(of, matched), asked, operators)
    times = [datetime.fromisoformat(publication.accepted_at) for publication in publications]
    return Preview(
        len(publications),
        findings.matches(positions),
        findings.undecided(positions),
        admission.cost,
        admission.warnings,
        (times[-1] - times[0]).total_seconds() if times else 0.0,
    )


def explain_document(
    subscription: Subscription,
    parsed: ParsedDocument,
    at: str,
    journal: Journal,
    operators: OperatorSet,
    explainer: Sandbox,
) -> tuple[Explanation, ...]:
    """Explain each publication of a document, as if it were accepted at the time `at`. Raises `DocumentRejected` where
    there is nothing to explain, and `InputError` for a subscription of repository scope."""
    if subscription.scope == REPOSITORY:
        found = f"subscription {subscription.name!r} is of repository scope, and no document matches it by itself"
        raise InputError(found, "`Engine.query` gives its answer, and `Engine.resync` tells it")
    if not parsed.drafts:
        for reject in parsed.rejects:
            raise DocumentRejected(reject.stage, reject.reason, reject.hint, reject.line, reject.column)
        raise DocumentRejected("parse", "it holds no publication", "give a document with at least one")
    publications = [
        Publication(Position(0), draft.graph, 0, at, draft.quads, draft.dataset, draft.labels, draft.attachments)
        for draft in parsed.drafts
    ]
    admission = admit(subscription, operators=operators)
    head = journal.head()
    background = Background.of(admission.entailment, journal.taxonomies(head, head).before(head + 1))
    kept = [journal.answers_to(draft, operators) for draft in parsed.drafts]
    return explain_subscription(subscription, publications, admission.bounded, background, operators, kept, explainer)
