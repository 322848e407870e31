from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

from triplecast.kernels import njit
from triplecast.kernels.cache import CACHE_FOLDER, choose_folder, source_digest
from triplecast.kernels.compiling import warm
from triplecast.kernels.hashing import hash_slices
from triplecast.kernels.scan import scan_text


def write_sources(folder: Path, **modules: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_the_name_changes_with_any_source(tmp_path: Path) -> None:
    folder = write_sources(tmp_path / "kernels", join="1", scan="2")
    before = source_digest(folder, ["0.65"])
    assert source_digest(folder, ["0.65"]) == before
    assert source_digest(folder, ["0.66"]) != before
    for changed in ({"join": "3", "scan": "2"}, {"join": "12", "scan": ""}, {"join": "1", "scan": "2", "new": ""}):
        other = write_sources(tmp_path / "-".join(changed.values()), **changed)
        assert source_digest(other, ["0.65"]) != before


def test_the_name_does_not_change_with_anything_else(tmp_path: Path) -> None:
    first = write_sources(tmp_path / "a", join="1")
    second = write_sources(tmp_path / "b", join="1")
    (second / "notes.txt").write_text("x")
    os.utime(second / "join.py", (0, 0))
    assert source_digest(first, []) == source_digest(second, [])


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "home/.cache/triplecast"),
        ({"XDG_CACHE_HOME": "{}/xdg"}, "xdg/triplecast"),
        ({"XDG_CACHE_HOME": "relative"}, "home/.cache/triplecast"),
        ({"XDG_CACHE_HOME": "{}/xdg", "TRIPLECAST_CACHE": "{}/own"}, "own"),
        ({"XDG_CACHE_HOME": "", "TRIPLECAST_CACHE": ""}, "home/.cache/triplecast"),
    ],
)
def test_the_parents_in_their_order(environment: dict[str, str], expected: str, tmp_path: Path) -> None:
    given = {name: value.format(tmp_path) for name, value in environment.items()}
    folder = choose_folder("kernels-1", given, tmp_path / "home", tmp_path / "temporary")
    assert folder == tmp_path / expected / "kernels-1"
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0


def test_an_unusable_parent_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    environment = {"TRIPLECAST_CACHE": str(tmp_path / "file" / "below"), "XDG_CACHE_HOME": str(tmp_path / "file")}
    folder = choose_folder("kernels-1", environment, tmp_path / "home", tmp_path)
    assert folder == tmp_path / "home" / ".cache" / "triplecast" / "kernels-1"
    (tmp_path / "temporary").mkdir()
    folder = choose_folder("kernels-1", environment, tmp_path / "file", tmp_path / "temporary")
    assert folder.parent.parent == tmp_path / "temporary"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    planted = tmp_path / "own" / "kernels-1"
    planted.mkdir(parents=True)
    planted.chmod(0o777)
    folder = choose_folder("kernels-1", {"TRIPLECAST_CACHE": str(tmp_path / "own")}, tmp_path / "home", tmp_path)
    assert folder == tmp_path / "home" / ".cache" / "triplecast" / "kernels-1"


def test_a_folder_that_cannot_be_written_to_is_used_where_it_has_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    folder, environment = tmp_path / "own" / "kernels-1", {"TRIPLECAST_CACHE": str(tmp_path / "own")}
    assert choose_folder("kernels-1", environment, tmp_path / "home", tmp_path) == folder
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert choose_folder("kernels-1", environment, tmp_path / "home", tmp_path) != folder
    (folder / "join.compiled").touch()
    assert choose_folder("kernels-1", environment, tmp_path / "home", tmp_path) == folder
    folder.chmod(0o777)
    assert choose_folder("kernels-1", environment, tmp_path / "home", tmp_path) != folder


def test_a_parent_planted_in_the_temporary_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    parent = choose_folder("kernels-1", {}, tmp_path / "file", tmp_path).parent
    parent.chmod(0o777)
    folder = choose_folder("kernels-1", {}, tmp_path / "file", tmp_path)
    assert folder.parent not in (parent, tmp_path)
    assert folder.parent.parent == tmp_path


def test_kernels_are_cached_in_the_folder_and_other_code_keeps_its_setting() -> None:
    before = numba.config.CACHE_DIR

    def add_one(number: int) -> int:
        return number + 1

    kernel = njit(add_one)
    assert kernel(1) == 2
    assert str(CACHE_FOLDER) in kernel.stats.cache_path
    assert before == numba.config.CACHE_DIR
    assert CACHE_FOLDER.name.startswith("kernels-")


def test_warming_runs_the_kernels_that_python_calls() -> None:
    assert {"hashing", "scan"} <= set(warm())
    assert hash_slices.signatures
    assert scan_text.signatures


def test_a_second_process_compiles_nothing() -> None:
    """Of no kernel and no signature: the first one compiles what is not in the cache yet."""
    code = """
from numba.core import event
from triplecast.kernels.compiling import warm

class Listener(event.Listener):
    def on_start(self, started):
        print("compiles", started.data["dispatcher"])
    def on_end(self, _):
        pass

event.register("numba:compile", Listener())
warm()
print("done")
"""
    for _ in range(2):
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["done"]
