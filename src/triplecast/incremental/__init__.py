"""Repository scope: how the answers of standing queries change with each event (semantics 10)."""

from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.standing_queries import AnswerChanged, EventAnswers, StandingQueries

__all__ = ["AnswerChanged", "EventAnswers", "StandingQueries", "StandingQuery", "compile_standing"]
