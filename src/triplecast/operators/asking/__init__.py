"""Open rows to answers: workers, schedules, and what is learnt of operators."""

from triplecast.operators.asking.asker import Asker
from triplecast.operators.asking.rounds import Settled, match_and_ask, settle
from triplecast.operators.asking.stored import settle_stored

__all__ = ["Asker", "Settled", "match_and_ask", "settle", "settle_stored"]
