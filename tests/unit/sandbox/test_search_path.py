"""The search path of this process, as its children are given it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from triplecast.sandbox import search_path


def test_entries_are_absolute_and_keep_their_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/a", "lib", Path("/no-text"), "/a", str(tmp_path)])
    assert search_path() == (str(tmp_path), "/a", str(tmp_path / "lib"))


def test_a_current_folder_that_is_no_more_is_passed_by(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["", "/a"])
    assert search_path() == ("/a",)


def test_where_modules_came_from_stands_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "__init__.py").write_text("")
    (tmp_path / "packed" / "of_a_package.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("packed.of_a_package")
    monkeypatch.setattr(sys, "path", ["/a"])
    assert search_path(["packed.of_a_package", "builtins", "never_imported"]) == ("/a", str(tmp_path))
    for name in ("packed", "packed.of_a_package"):
        monkeypatch.delitem(sys.modules, name)
