"""What is told to a subscription with conditions of an update (`languages.updates`, semantics 10.6): the rows updated,
or added, that fulfil them all. A row removed without another is not told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from triplecast.evaluate import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.evaluation import hold_for
from triplecast.languages.updates import earlier_name
from triplecast.model.algebra import Expression, Term, from_ntriples, variables_in
from triplecast.model.match import CHANGE_NUMBER, CHANGES
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import OutboxBatch, OutboxRow
from triplecast.telling.rows import Row, changed_text

TOO_LONG_TO_COMPARE = "the conditions on its updates: {}"


def hold_to_conditions(batch: OutboxBatch, conditions: Mapping[int, Sequence[Expression]]) -> OutboxBatch:
    """What of a batch is told, where some registrations have conditions; a pair whose conditions take more than
    `DEFAULT_STEPS` is undecided."""
    mine = np.isin(batch.registration, [*conditions])
    if not mine.any():
        return batch
    rows, undecided = [], []
    for row in batch.only(mine).rows():
        kind, found = CHANGES[row.change], json.loads(row.bindings)
        parts = found if isinstance(found, dict) else {kind.word: found}
        try:
            word, text = told_of(conditions[row.registration], parts.get("added", ()), parts.get("updated", ()))
        except BudgetExceeded as error:
            reason = TOO_LONG_TO_COMPARE.format(error)
            undecided.append(PairReason(row.position, row.registration, reason, kind.by_removal))
            continue
        if word:
            rows.append(OutboxRow(*row[:2], CHANGE_NUMBER[word, kind.by_removal], text.decode()))
    names = {each.position: each for each in batch.publications}
    rest = replace(batch.only(~mine), undecided=batch.undecided, awaited=batch.awaited)
    return OutboxBatch.merged([rest, OutboxBatch.of_rows(rows, names, tuple(undecided))])


def told_of(
    conditions: Sequence[Expression], added: Sequence[Row], updated: Sequence[Sequence[Row]]
) -> tuple[str, bytes]:
    """A word for what is told of rows added and updated, and its text; no word for nothing. Raises `BudgetExceeded`."""
    needed = {variable.name for condition in conditions for variable in variables_in(condition)}

    def terms() -> Iterator[dict[str, Term]]:
        for before, after in [({}, row) for row in added] + [(pair[0], pair[1]) for pair in updated]:
            row = {**after, **{earlier_name(name): term for name, term in before.items()}}
            yield {name: from_ntriples(term) for name, term in row.items() if name in needed}

    hold = [*hold_for(conditions, terms(), Budget(DEFAULT_STEPS))]
    kept = [row for row, holds in zip(added, hold, strict=False) if holds]
    pairs = [(pair[0], pair[1]) for pair, holds in zip(updated, hold[len(added) :], strict=True) if holds]
    return changed_text(kept, [], pairs)
