"""What is another's is answered as what does not exist."""

from __future__ import annotations

from pathlib import Path

from tests.properties.guesses import check_guesses


def test_wrong_secrets_open_nothing_and_tell_nothing(tmp_path: Path, seed: int) -> None:
    assert check_guesses(1_500, tmp_path / "folder", seed).total() == 1_500
