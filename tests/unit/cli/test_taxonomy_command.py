"""`triplecast taxonomy`."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.cli import main

THEMES = "<urn:Train> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:Vehicle> ."


def test_a_taxonomy_is_loaded_told_shown_and_queried(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run(*arguments: object) -> tuple[int, str]:
        code = main([str(each) for each in arguments])
        return code, capsysbinary.readouterr().out.decode()

    folder, file = tmp_path / "folder", tmp_path / "themes.nt"
    file.write_text(THEMES)
    with Engine.open(folder) as engine:
        engine.publish("<urn:x> a <urn:Train> .", "text/turtle", "urn:g")
        engine.subscribe("SELECT ?s { ?s a <urn:Vehicle> }", id="v", scope="repository", entailment="rdfs")
    assert run("taxonomy", folder) == (3, "")
    code, out = run("taxonomy", folder, file)
    assert (code, out.splitlines()[0]) == (0, "position 3: 1 subclasses, 0 subproperties, 0 broader, 0 types")
    assert "urn:x" in out.splitlines()[1]
    assert run("taxonomy", folder) == (0, f"{THEMES}\n")
    asked = ("query", folder, "SELECT ?s { ?s a <urn:Vehicle> }")
    assert run(*asked)[0] == 3
    assert "urn:x" in run(*asked, "--entailment", "rdfs")[1]
    assert run("taxonomy", tmp_path / "nothing")[0] == 2
