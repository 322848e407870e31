"""Vocabularies: counted, written, read, and refused when they are not as they were made."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.operators.box.vocabulary import (
    count_vocabulary,
    format_vocabulary,
    main,
    parse_vocabulary,
    read_vocabulary,
    split_documents,
)

TEXT = "The boat, the BOAT!\nÉté.\n\n\n  \nA train; the ete\n"


def test_a_word_counts_once_a_document() -> None:
    counted = count_vocabulary("v", [*split_documents(TEXT), "", "…"])
    assert counted.documents == 2
    assert list(counted.frequencies.items()) == [("a", 1), ("boat", 1), ("ete", 2), ("the", 2), ("train", 1)]
    assert sorted(count_vocabulary("v", split_documents(TEXT), least=2).frequencies) == ["ete", "the"]


def test_what_is_written_is_read() -> None:
    counted = count_vocabulary("v", split_documents(TEXT))
    read = parse_vocabulary(format_vocabulary(counted), "v.vocabulary")
    assert (read.name, read.documents, read.frequencies, read.analyser) == (
        counted.name,
        counted.documents,
        counted.frequencies,
        counted.analyser,
    )


def test_its_written_form_stays() -> None:
    head, *lines = format_vocabulary(count_vocabulary("v", ["b a", "a"])).splitlines()
    assert lines == ["a\t2", "b\t1"]
    stamps = head.split("\t")
    assert stamps[:3] == ["triplecast-vocabulary 1", "v", "documents=2"]
    assert stamps[4] == "sha256=" + sha256(b"a\t2\nb\t1\n").hexdigest()


def test_the_command_makes_one(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(TEXT)
    assert main(["mine", str(corpus), "--least", "1"]) == 0
    written, said = capfdbinary.readouterr()
    assert said == b"2 documents, 5 words\n"
    made = tmp_path / "mine.vocabulary"
    made.write_bytes(written)
    assert read_vocabulary(made).frequencies == count_vocabulary("mine", split_documents(TEXT)).frequencies
    assert main(["mine", str(tmp_path / "none.txt")]) == 2
    assert b"none.txt" in capfdbinary.readouterr().err
    corpus.write_text("…")
    assert main(["mine", str(corpus)]) == 2
    assert b"the corpus has no words; give text files" in capfdbinary.readouterr().err.replace(b"\n", b" ")


GOOD = format_vocabulary(count_vocabulary("v", ["boat"]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "x.vocabulary is no vocabulary: its first line is ''"),
        ("word\t3\n", "is no vocabulary"),
        (GOOD.replace("vocabulary 1", "vocabulary 2"), "is no vocabulary"),
        (GOOD.replace("boat\t1", "boat\t2"), "is not as it was made: its contents have another checksum"),
        (GOOD.replace("analyser=1/", "analyser=0/"), "has words by the rules 0/"),
    ],
)
def test_what_is_no_vocabulary_is_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match="make the vocabulary again") as refused:
        parse_vocabulary(text, "x.vocabulary")
    assert told in str(refused.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_vocabulary(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(InputError, match="is no text in UTF-8"):
        read_vocabulary(tmp_path / "bytes")


def test_another_version_of_unicode_is_read() -> None:
    head, _, body = GOOD.partition("\n")
    stamps = [f"analyser=1/{99}" if each.startswith("analyser=") else each for each in head.split("\t")]
    assert parse_vocabulary("\t".join(stamps) + "\n" + body, "v").analyser == "1/99"
