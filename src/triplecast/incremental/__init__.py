"""Repository scope: how the answers of standing queries change with each event (semantics 10)."""

from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.event_answers import AnswerChanged, EventAnswers, RowsTold
from triplecast.incremental.operator_answers import OperatorAnswers
from triplecast.incremental.owed import OWED, OwedAnswers
from triplecast.incremental.standing_queries import StandingQueries

__all__ = [
    "OWED",
    "AnswerChanged",
    "EventAnswers",
    "OperatorAnswers",
    "OwedAnswers",
    "RowsTold",
    "StandingQueries",
    "StandingQuery",
    "compile_standing",
]
