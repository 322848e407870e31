"""What `Engine` says to a caller who took it for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triplecast import Engine, StorageFault


def test_a_folder_is_opened_and_not_constructed(tmp_path: Path) -> None:
    taken: Any = tmp_path
    with pytest.raises(TypeError, match=r"the durable one is Engine\.open\(folder\)"):
        Engine(taken)
    (tmp_path / "a.ttl").write_text("")
    with pytest.raises(StorageFault, match=r"a\.ttl: it is a file, and a folder is needed"):
        Engine.open(tmp_path / "a.ttl")


@pytest.mark.parametrize("given", [["ASK { ?s ?p ?o }"], "ASK { ?s ?p ?o }", 7])
def test_texts_are_no_subscriptions(given: Any) -> None:
    with Engine() as engine:
        with pytest.raises(TypeError, match=r"takes a list of triplecast\.Subscription, not (str|int); `subscribe`"):
            engine.subscribe_many(given)
        assert engine.subscribe_many([]) == []


def test_a_closed_engine_in_memory_cannot_be_opened_again() -> None:
    engine = Engine()
    engine.close()
    with pytest.raises(StorageFault, match="it has been closed; what it held is gone; begin with a new one"):
        list(engine.subscriptions())
