"""The evaluator's child: `answer` is the function that the sandbox runs.

Queries for which the first ones of their request leave no time or room are answered ``later``, so that steps bound a
request's duration, not the clock.
"""

from __future__ import annotations

from functools import lru_cache

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.background import entail_graphs
from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.evaluate.evaluation import evaluate_opened
from triplecast.evaluate.graphs import PublishedGraphs, open_publication
from triplecast.evaluate.messages import LATER, Outcome, read_request, write_answer, write_wanted
from triplecast.evaluate.solutions import bounded_bindings
from triplecast.evaluate.unknown import NO_ANSWERS, Answers, Unanswered
from triplecast.languages import fill, parse_template
from triplecast.model.algebra import Query
from triplecast.model.match import TOO_LONG
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.taxonomy import EntailmentTooLarge
from triplecast.text.words import Form, fold, stemmer_of

STEPS_A_REQUEST = 250_000
"""Work after which a request's remaining queries are left for another request."""
REMEMBERED_LENGTH = 10_000
"""Characters of the longest query that is kept parsed."""
LONGEST_ANSWER = 8 << 20
"""Bytes of bindings after which a request's remaining queries are left for another request."""


def answer(message: bytes) -> bytes:
    """Raises ValueError or SyntaxError for a malformed request."""
    (publication, steps, background, answers, operators), queries = read_request(message)
    try:
        graphs = entail_graphs(open_publication(publication), background)
    except EntailmentTooLarge as error:
        return write_answer([Outcome("undecided", b"", f"budget: {error}")] * len(queries))
    outcomes: list[Outcome] = []
    spent = written = 0
    for text, language in queries:
        if outcomes and (spent >= STEPS_A_REQUEST or written >= LONGEST_ANSWER):
            outcomes.append(LATER)
            continue
        budget = Budget(steps)
        outcome = decide(text, language, publication, graphs, budget, answers, operators)
        outcomes.append(outcome)
        spent += steps - max(budget.left, 0)
        written += len(outcome.bindings)
    return write_answer(outcomes)


def open_outcome(unanswered: Unanswered) -> Outcome:
    """``open`` as long as an answer may decide the pair."""
    if unanswered.rows:
        return Outcome("open", write_wanted(unanswered.rows), "")
    return Outcome("undecided", b"", unanswered.failures[0])


def decide(
    text: str,
    language: str,
    publication: Publication,
    graphs: PublishedGraphs,
    budget: Budget,
    answers: Answers = NO_ANSWERS,
    operators: OperatorSet = NO_OPERATORS,
) -> Outcome:
    """Decide one pair. A spent budget, a query that does not parse, bindings that are too long and operators that have
    to be called are outcomes."""
    try:
        solutions = evaluate_opened(parse(text, language, operators), publication, graphs, budget, answers=answers)
    except Unanswered as unanswered:
        return open_outcome(unanswered)
    except BudgetExceeded as error:
        return Outcome("undecided", b"", f"budget: {error}")
    except (QuerySyntaxError, QueryRefused) as error:
        return Outcome("undecided", b"", f"query: {error}")
    except RecursionError:
        return Outcome("undecided", b"", "query: nested too deeply to evaluate")
    if not solutions.matched:
        return Outcome("unmatched", b"", "")
    bindings = bounded_bindings(solutions)
    return Outcome("undecided", b"", TOO_LONG) if bindings is None else Outcome("matched", bindings, "")


def parse(text: str, language: str, operators: OperatorSet = NO_OPERATORS) -> Query:
    """Return the query; short ones are remembered."""
    return (_parse if len(text) > REMEMBERED_LENGTH else _remembered)(text, language, operators)


def _parse(text: str, language: str, operators: OperatorSet) -> Query:
    template, constants = parse_template(text, language, operators=operators)
    return fill(template.query, constants)


_remembered = lru_cache(maxsize=4_096)(_parse)


def prepare() -> None:
    """Load the grammars and stemmers: the child may open no file once it serves."""
    fold("words", Form(stem=stemmer_of("en")))
    parse("ASK { }", "sparql")
    parse("SELECT * WHERE (?s ?p ?o) USING p FOR <x:p>", "rdql")
    parse("search <x:C> c register c", "rule")


prepare()
