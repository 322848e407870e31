"""Why a publication matches a subscription, or which part of the query fails."""

from triplecast.explain.explainer import explain_subscription, explaining_sandbox
from triplecast.explain.explanation import Explanation

__all__ = ["Explanation", "explain_subscription", "explaining_sandbox"]
