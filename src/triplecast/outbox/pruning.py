"""What pruning deletes of an outbox."""

from __future__ import annotations

from triplecast.outbox.chunks import read_chunks
from triplecast.outbox.tables import State
from triplecast.sqlite import SqliteFile

CHUNKS_AT_ONCE = 64
"""Chunks that one step deletes."""


def prune(database: SqliteFile, state: State, upto: int) -> State:
    """Delete the first notifications up to sequence `upto`, at most some chunks of them, and the undecided pairs of the
    publications whose last notification goes; return the state after it."""
    if upto <= state.pruned:
        return state
    statement = "SELECT number, last, last_position, late FROM chunk WHERE last <= ? ORDER BY number LIMIT ?"
    whole = database.ask(statement, (upto, CHUNKS_AT_ONCE))
    pruned = upto if len(whole) < CHUNKS_AT_ONCE else max(state.pruned, whole[-1][1])
    position = _first_position(database, pruned - 1)  # of the last one that goes
    database.run("DELETE FROM chunk WHERE number = ?", [row[:1] for row in whole])
    left = _first_position(database, pruned)
    forgotten = max([state.forgotten, *(last_position for _, _, last_position, late in whole if not late)])
    after = state._replace(pruned=pruned, forgotten=forgotten)
    return prune_undecided(database, after, (position or 0) if left is None else left - 1)


def prune_undecided(database: SqliteFile, state: State, upto: int) -> State:
    """Delete the undecided pairs of publications at positions up to `upto`, and what only they need; return the state
    after it."""
    upto = min(upto, state.progress)
    database.run("DELETE FROM undecided WHERE position <= ?", [(upto,)])
    database.run("DELETE FROM publication WHERE position <= ?", [(upto,)])
    return state._replace(forgotten=max(state.forgotten, upto))


def _first_position(database: SqliteFile, after: int) -> int | None:
    """Return the first publication that a notification beyond sequence `after` is of. They are in order of position,
    but for those in late chunks."""
    for chunk in [*read_chunks(database, "WHERE last > ? AND first <= last ORDER BY number LIMIT 1", (after,))]:
        assert chunk.content is not None
        ((late,),) = database.ask("SELECT min(first_position) FROM chunk WHERE late = 1 AND first > ?", (chunk.first,))
        first = int(chunk.content.position[max(0, after + 1 - chunk.first) :].min())
        return first if late is None else min(first, late)
    return None
