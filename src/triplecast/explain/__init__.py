"""Why a publication matches a subscription, or which part of the query fails."""

from triplecast.explain.explainer import explain_subscription, explaining_sandbox
from triplecast.explain.explanation import Explanation
from triplecast.explain.rule_parts import RuleDecomposition, RulePart, decompose

__all__ = [
    "Explanation", "RuleDecomposition", "RulePart", "decompose", "explain_subscription", "explaining_sandbox",
]  # fmt: skip
