"""Repository scope: how the answers of standing queries change with each event (semantics 10)."""

from triplecast.incremental.standing import StandingQueries

__all__ = ["StandingQueries"]
