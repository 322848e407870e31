"""What an explanation is read from: the recorded evaluation, its graphs, and the conditions that it judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pyoxigraph import Literal

from triplecast.evaluate.graphs import PublishedGraphs
from triplecast.evaluate.rows import Row
from triplecast.evaluate.scope import condition_names
from triplecast.explain.operator_answers import ExplainedAnswers, describe_operators
from triplecast.explain.trace import FALSE, TRUE, Judgement, Trace
from triplecast.explain.wording import Wording
from triplecast.model.algebra import Call, Expression, Pattern, Term, Union, Variable, subexpressions
from triplecast.text import CONTAINS, SCORE, find_spans, parse_selection, score, show_spans


class Evidence(NamedTuple):
    """One recorded evaluation."""

    trace: Trace
    graphs: PublishedGraphs
    words: Wording
    answers: ExplainedAnswers

    def describe_judgements(self, condition: Expression, judgements: Sequence[Judgement]) -> list[str]:
        """List each outcome of a condition with the values, texts and operator results it depends on."""
        names = condition_names(condition)
        lines = []
        for row, outcome in judgements:
            bound = [name for name in names if name in row]
            values = ", ".join(f"{self.words.node(Variable(name))} = {self.words.node(row[name])}" for name in bound)
            shown = outcome if outcome in (TRUE, FALSE) else f"an error ({outcome})"
            lines.append(f"{self.words.expression(condition)} is {shown}" + (f" for {values}" if values else ""))
            lines += [f"  {line}" for line in _describe_texts(condition, row)]
        for row, _ in judgements:
            lines += describe_operators(condition, row, self.answers, self.words)
        return list(dict.fromkeys(lines))

    def first_true(self, condition: Expression, row: Row) -> list[Judgement]:
        """The first recorded row for which a condition is true, one that agrees with `row` before others; or none."""
        names = condition_names(condition)
        true = [judgement for judgement in self.trace.of(condition) if judgement.outcome == TRUE]
        own = [each for each in true if all(each.row.get(name) == row.get(name) for name in names)]
        return (own or true)[:1]


def alternatives(pattern: Pattern) -> Iterator[Pattern]:
    """The alternatives of nested UNIONs, from left to right."""
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Union):
            waiting += [part.right, part.left]
        else:
            yield part


def _describe_texts(condition: Expression, row: Mapping[str, Term]) -> Iterator[str]:
    """Show which words of each text a full-text condition finds, or the text's score."""
    for part in subexpressions(condition):
        match part:
            case Call(function, (Variable(name), Literal() as selection)) if function in (CONTAINS, SCORE):
                text = row.get(name)
                if isinstance(text, Literal) and function == SCORE:
                    yield f"?{name} has the score {score(text.value, selection.value)}"
                elif isinstance(text, Literal):
                    spans = find_spans(parse_selection(selection.value), text.value, text.language, lambda steps: None)
                    yield f"?{name} has {show_spans(text.value, spans) or 'none of the words'}"
