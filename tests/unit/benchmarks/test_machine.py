"""The commit of a record: a `+` says that files took part which it does not hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.machine import describe_machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/a.py", "experiments/x/results/figures.md", "docs/a.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def has_plus(root: Path) -> bool:
    commit = describe_machine(root, ("src", "experiments")).commit
    assert len(commit.removesuffix("+")) == 10
    return commit.endswith("+")


@pytest.mark.parametrize("name", ["src/a.py", "src/new.py", "experiments/x/new.py"])
def test_changed_and_new_files_count(root: Path, name: str) -> None:
    assert not has_plus(root)
    (root / name).write_text("changed")
    assert has_plus(root)


@pytest.mark.parametrize("name", ["docs/a.md", "experiments/x/results/figures.md", "experiments/x/results/new.png"])
def test_what_takes_no_part_and_what_runs_write_does_not(root: Path, name: str) -> None:
    (root / name).write_text("changed")
    assert not has_plus(root)


def test_no_repository_no_commit(tmp_path: Path) -> None:
    assert describe_machine(tmp_path).commit == "unknown"
