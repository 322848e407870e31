"""Open rows to results: operators' workers, schedules and statistics."""

from triplecast.operators.asking.asker import Asker
from triplecast.operators.asking.rounds import Settled, ask_pieces, match_and_ask, resolve_known, settle, settle_stored

__all__ = ["Asker", "Settled", "ask_pieces", "match_and_ask", "resolve_known", "settle", "settle_stored"]
