"""What an outbox forgets: notifications that their subscribers have, and undecided pairs that nobody asks for again."""

from __future__ import annotations

from triplecast.outbox.reader import State
from triplecast.sqlite import SqliteFile

_AT_ONCE = 50_000


def prune(database: SqliteFile, state: State, upto: int) -> State:
    """Delete notifications up to sequence `upto`, at most `_AT_ONCE`, and the undecided pairs of the publications whose
    last notification goes; return the state after it."""
    rows = database.ask(
        "SELECT sequence, position FROM notification WHERE sequence <= ? ORDER BY sequence LIMIT ?", (upto, _AT_ONCE)
    )
    if not rows:
        return state
    last, position = rows[-1]
    database.run("DELETE FROM notification WHERE sequence <= ?", [(last,)])
    database.run("DELETE FROM late WHERE last <= ?", [(last,)])
    left = _first_position(database)
    return prune_undecided(database, state._replace(pruned=last), position if left is None else left - 1)


def prune_undecided(database: SqliteFile, state: State, upto: int) -> State:
    """Delete the undecided pairs of publications at positions up to `upto`, and publications that neither pairs nor
    notifications need; return the state after it."""
    upto = min(upto, state.progress)
    database.run("DELETE FROM undecided WHERE position <= ?", [(upto,)])
    forgotten = max(state.forgotten, upto)
    needed = _first_position(database)
    database.run(
        "DELETE FROM publication WHERE position < ?",
        [(min(forgotten if needed is None else needed - 1, forgotten) + 1,)],
    )
    return state._replace(forgotten=forgotten)


def _first_position(database: SqliteFile) -> int | None:
    """Return the first publication that a notification is of. They are in order of position, but for those of pairs
    settled late: ``late`` has the first position of each group of these."""
    for sequence, position in database.ask("SELECT sequence, position FROM notification ORDER BY sequence LIMIT 1"):
        ((late,),) = database.ask("SELECT min(position) FROM late WHERE last >= ?", (sequence,))
        return int(position if late is None else min(position, late))
    return None
