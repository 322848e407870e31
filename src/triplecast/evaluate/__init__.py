"""The evaluator: exact answers to queries over one publication, in this process or in a child that may be killed."""

from triplecast.evaluate.background import NO_BACKGROUND, Background
from triplecast.evaluate.budget import DEFAULT_STEPS, Budget, BudgetExceeded
from triplecast.evaluate.evaluation import evaluate, result_on_empty
from triplecast.evaluate.evaluator import LIMITS, Candidate, Decision, Evaluator
from triplecast.evaluate.regex import check_regexes
from triplecast.evaluate.solutions import Solutions, bindings_json

__all__ = [
    "DEFAULT_STEPS",
    "LIMITS",
    "NO_BACKGROUND",
    "Background",
    "Budget",
    "BudgetExceeded",
    "Candidate",
    "Decision",
    "Evaluator",
    "Solutions",
    "bindings_json",
    "check_regexes",
    "evaluate",
    "result_on_empty",
]
