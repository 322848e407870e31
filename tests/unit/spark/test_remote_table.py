"""The table of a service says what that of its folder says."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="DataFrames need the extra [spark]")
pytest.importorskip("fastapi", reason="the extra `service` is not installed")

import triplecast
from tests.unit.service.served import served
from tests.unit.spark.test_tables import made, read
from triplecast.errors import InputError
from triplecast.spark.remote_table import RemoteTable, ServicePlace
from triplecast.spark.tables import NotificationTable, PushedDown


@pytest.mark.parametrize("changes", [False, True])
def test_a_service_gives_what_its_folder_gives(tmp_path: Path, changes: bool, seed: int) -> None:
    made(tmp_path, seed)
    with triplecast.Engine.open(tmp_path) as engine:
        engine.subscribe("ASK { <urn:s:1> ?p 2 }", id="ask", notify="changed")
        engine.subscribe("CONSTRUCT { ?s <urn:r> ?o } WHERE { ?s <urn:p> ?o }", id="made")
        engine.subscribe("SELECT * { ?s <urn:p> [] OPTIONAL { ?s <urn:q> ?o } }", id="open", notify="changed")
        for number in range(30):
            text = f'<urn:s:{number % 3}> <urn:p> {number % 4}, "a\\"\\n{number}"@en, _:b . _:b <urn:q> 1.50 .'
            engine.publish(text, media_type="text/turtle", graph=f"urn:g:{number % 4}")
        with served(engine) as url:
            place = ServicePlace(url)
            folder, remote = NotificationTable(changes), RemoteTable(changes)
            assert remote.head(place) == folder.head(tmp_path)
            expected = read(tmp_path, folder)
            assert expected.num_rows > 100
            assert read(place, remote, Random(seed)).to_pylist() == expected.to_pylist()  # type: ignore[arg-type]
            wanted = PushedDown("keyed", None)
            some = read(place, remote, Random(seed), wanted)  # type: ignore[arg-type]
            assert some.to_pylist() == read(tmp_path, folder, None, wanted).to_pylist()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://[127.0.0.1", "127.0.0.1:9"])
def test_a_service_that_is_not_there_is_named(url: str) -> None:
    with pytest.raises(InputError, match=rf"{re.escape(url)} cannot be reached"):
        RemoteTable().head(ServicePlace(url))
