"""docs/built-in-operators.md: its places, look-ups and rules answer, and their numbers are those of the code."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast.operators.worker import MOST_ROWS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "built-in-operators.md").read_text("utf-8")
MODULES = {
    module.partition("\n")[0].removeprefix("# "): module for module in re.findall(r"```python\n(.*?)```", PAGE, re.S)
}
PROGRAM = """
import kin, parks, wares
from triplecast import Engine
engine = Engine()
prefixes = "PREFIX : <https://example.org/> PREFIX my: <https://example.org/op#> "
ask = lambda name, query: engine.subscribe(prefixes + query, id=name)
ask("parks", 'SELECT ?x ?m { ?x :sku ?s ; my:inPark "North" . (?x "South") my:metresFromPark ?m }')
ask("wares", "SELECT ?s ?p { ?x :sku ?s FILTER(my:inStock(?s)) BIND(my:price(?s) AS ?p) }")
ask("kin", "SELECT ?a ?t { :a :sku ?s . :a my:ancestor ?a . ?a my:type ?t }")
ask("entails", "SELECT ?p { :c :sku ?s . :c my:entails (?p :Elder) }")
receipt = engine.publish('''
@prefix : <https://example.org/> . @prefix geo: <http://www.opengis.net/ont/geosparql#> .
:a :sku "x" ; :parent :b ; geo:asWKT "POINT(1 1)"^^geo:wktLiteral . :b :parent :c . :c :age 70 ; :sku "y" .
''', "text/turtle")
assert not receipt.undecided, receipt.undecided
for match in sorted(receipt.matches, key=lambda match: match.subscription):
    print(match.subscription, *(term.value for row in match.bindings for term in row.values()))
"""


def test_its_modules_answer(tmp_path: Path) -> None:
    for library in ("shapely", "sqlalchemy", "clingo"):
        pytest.importorskip(library, reason="the extra triplecast[operators] is not installed")
    for name in ("parks.py", "wares.py", "kin.py"):
        (tmp_path / name).write_text(MODULES[name])
    regions = [
        {
            "type": "Feature",
            "id": name,
            "geometry": {"type": "Polygon", "coordinates": [[[x, 0], [x + 2, 0], [x + 2, 2], [x, 2], [x, 0]]]},
        }
        for name, x in (("North", 0), ("South", 10))
    ]
    (tmp_path / "parks.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": regions}))
    made = sqlite3.connect(tmp_path / "wares.db")
    made.executescript("CREATE TABLE wares (sku, price, stock); INSERT INTO wares VALUES ('x', 2.5, 1), ('y', 9.0, 0)")
    made.close()
    path = os.pathsep.join((str(tmp_path), *(each for each in sys.path if each)))
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    told = answer.stdout.splitlines()
    assert told[:1] == ["entails http://www.w3.org/1999/02/22-rdf-syntax-ns#type"], answer.stderr
    assert told[1] == "kin https://example.org/c https://example.org/Elder"
    name, metres, thing = told[2].split()
    assert (name, thing) == ("parks", "https://example.org/a")
    assert float(metres) == pytest.approx(1_001_722.6, abs=0.1)  # 9 degrees, a little less than along the equator
    assert told[3:] == ["wares 2.5 x"]


def test_its_numbers_are_those_of_the_code() -> None:
    pytest.importorskip("shapely", reason="the extra triplecast[operators] is not installed")
    from triplecast.operators.box.geography import GEOF, UNITS
    from triplecast.operators.box.geometries import LONGEST
    from triplecast.operators.box.metres import _MOST_PAIRS
    from triplecast.operators.box.rules import MOST_TRIPLES

    assert f"more than {LONGEST:,} characters" in PAGE
    assert f"the {_MOST_PAIRS:,} most promising pairs" in PAGE
    assert f"more than {MOST_TRIPLES:,} triples" in PAGE
    assert f"{MOST_ROWS:,} at most" in PAGE
    for unit in UNITS:
        assert unit in PAGE or f"`{unit.rpartition('/')[2]}`" in PAGE
    from triplecast.operators import declared_operators

    for declared in declared_operators():
        if declared.iri.startswith(GEOF):
            assert f"{declared.iri.removeprefix(GEOF)}" in PAGE
