"""How a missing part of an installation is installed. Triplecast is on no package index, so from a clone."""


def how_to_install(extra: str = "") -> str:
    """Return the command that installs Triplecast with the libraries of `extra`, and where it works."""
    what = f"'.[{extra}]'" if extra else "."
    return f"pip install {what} in a clone of Triplecast"
