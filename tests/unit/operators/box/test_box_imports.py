"""What importing the box costs every process that reads queries, and what it says where the extra is missing."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "shapely", "pyproj", "scipy", "sqlalchemy", "clingo", "PIL")
MEASURED = """
import sys, time
import triplecast.operators
began = time.process_time()
import triplecast.operators.box
spent = time.process_time() - began
print(spent, *[module for module in {heavy!r} if module in sys.modules])
"""
WITHOUT = """
import sys
for library in {heavy!r}:
    sys.modules[library] = None
import triplecast.operators.box
from triplecast.model.operators import OperatorSet
from triplecast.operators.declaration import declarations
operators = OperatorSet(declarations())
known = [each.iri for each in operators]
from triplecast.languages import parse_query
try:
    parse_query("ASK {{ ?x geo:asWKT ?y FILTER({call}) }}", operators=operators)
except Exception as error:
    print(error)
print(known)
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_it_imports_no_library_and_takes_milliseconds() -> None:
    spent = []
    for _ in range(3):
        seconds, *loaded = run(MEASURED.format(heavy=HEAVY)).split()
        assert not loaded
        spent.append(float(seconds))
    assert min(spent) < 0.030  # about 3 ms on an idle machine: declarations, and looking for the libraries


def test_without_the_extra_a_query_is_refused_with_its_name() -> None:
    for call in ("geof:sfWithin(?y, ?y)", "op:within(?x, ?y)"):
        told = run(WITHOUT.format(heavy=HEAVY, call=call))
        assert "pip install '.[operators]' in a clone" in told
        assert told.endswith("\n['urn:triplecast:op:similarity']\n"), "it needs no library"
        assert "geography of the box needs shapely, pyproj, scipy; pictures of the box needs PIL, scipy" in told


def test_each_module_asks_for_its_own_libraries() -> None:
    told = run(WITHOUT.format(heavy=("PIL",), call="op:nothing(?y)"))
    assert "function/geosparql/sfWithin" in told
    assert "it has distance, similarity, within; pictures of the box needs PIL, not installed here" in told
