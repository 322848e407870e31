"""The evaluator: queries over one publication, exactly; explain; and the sandboxed form that decides the index's
candidates."""

from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.entailed import NO_BACKGROUND, Background
from triplecast.evaluate.evaluation import evaluate, result_on_empty
from triplecast.evaluate.evaluator import Candidate, Decision, Evaluator, explain_subscription
from triplecast.evaluate.explain import explain
from triplecast.evaluate.explanation import Explanation
from triplecast.evaluate.regex import check_regexes
from triplecast.evaluate.solutions import Solutions, bindings_json

__all__ = [
    "DEFAULT_STEPS",
    "NO_BACKGROUND",
    "Background",
    "Budget",
    "BudgetExceeded",
    "Candidate",
    "Decision",
    "Evaluator",
    "Explanation",
    "Solutions",
    "bindings_json",
    "check_regexes",
    "evaluate",
    "explain",
    "explain_subscription",
    "result_on_empty",
]
