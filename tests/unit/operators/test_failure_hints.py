"""What is said to do about an operator that failed or cannot be asked."""

from __future__ import annotations

import pytest

from triplecast.operators.failure_hints import INSTALL, failure_hint, find_module, import_hint
from triplecast.sandbox import RequestFailure


@pytest.mark.parametrize(
    ("detail", "hint"),
    [
        ("ModuleNotFoundError: No module named 'sqlalchemy' (wares.py, line 9, in price)", INSTALL),
        ("ModuleNotFoundError: No module named 'torch.nn'", "install torch where operators are evaluated"),
        ("WrongResult: it filters", "give what its arguments declare, and change its version"),
        ("ValueError: No module", "fix the function, or let it raise Unanswerable"),
    ],
)
def test_what_it_raised(detail: str, hint: str) -> None:
    assert failure_hint(RequestFailure("error", detail)).startswith(hint)


@pytest.mark.parametrize(
    ("source", "told", "hint"),
    [
        ("boats", "ModuleNotFoundError: No module named 'boats'", "its module boats has to be importable"),
        ("my.boats", "ModuleNotFoundError: No module named 'my'", "its module my.boats has to be importable"),
        ("boats", "ModuleNotFoundError: No module named 'torch'", "install torch where operators are evaluated"),
        ("boats", "ModuleNotFoundError: No module named 'shapely'", INSTALL),
        ("boats", "SyntaxError: invalid syntax", "its module boats has to be importable"),
    ],
)
def test_a_module_that_cannot_be_imported(source: str, told: str, hint: str) -> None:
    assert import_hint(source, told).startswith(hint)


def test_a_module_is_named_as_python_names_it() -> None:
    assert "--operators my.boats, from" in find_module("my.boats")
    assert "`import script`" in find_module("/somewhere/script.py")
