"""Repository scope: how the answers of standing queries change with each event (semantics 10)."""

from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.standing_queries import EventAnswers, StandingQueries

__all__ = ["EventAnswers", "StandingQueries", "StandingQuery", "compile_standing"]
