"""Why a publication matches a subscription, or which part of the query fails."""

from triplecast.explain.explainer import Explainer, explain_subscription
from triplecast.explain.explanation import Explanation

__all__ = ["Explainer", "Explanation", "explain_subscription"]
