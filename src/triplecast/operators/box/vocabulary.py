"""In how many documents of a corpus each word occurs: it tells words that say something from those of every text.

A vocabulary is a text file. Its first line is ``triplecast-vocabulary 1``, the name, ``documents=N``, ``analyser=A``
and ``sha256=H``, separated by tabs; each further line is a word (folded, `text.words`), a tab and the number of
documents that have it, words sorted. H is of the lines after the first. `python -m
triplecast.operators.box.vocabulary` makes one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from triplecast.errors import InputError
from triplecast.text.words import ANALYSER, fold, words_of

_FORMAT = "triplecast-vocabulary 1"
_AGAIN = "make the vocabulary again: python -m triplecast.operators.box.vocabulary NAME FILE … > NAME.vocabulary"


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    name: str
    """Another one for other contents: it goes into the version of the operators that use it."""
    documents: int
    """Of the corpus; at least 1."""
    frequencies: Mapping[str, int]
    """By folded word, in how many documents it is: 1 to `documents`."""
    analyser: str = ANALYSER
    """What cut and folded the corpus' words."""


def count_vocabulary(name: str, documents: Iterable[str], least: int = 1) -> Vocabulary:
    """The vocabulary of a corpus, without the words that fewer than `least` documents have. Raises `InputError` for a
    corpus without words."""
    counts: Counter[str] = Counter()
    number = 0
    for document in documents:
        words = {fold(word) for word in words_of(document)}
        number += bool(words)
        counts.update(words)
    if not number:
        raise InputError("the corpus has no words", "give text files, their documents separated by empty lines")
    kept = {word: counts[word] for word in sorted(counts) if counts[word] >= least}
    return Vocabulary(name, number, kept)


def format_vocabulary(vocabulary: Vocabulary) -> str:
    body = "".join(f"{word}\t{count}\n" for word, count in sorted(vocabulary.frequencies.items()))
    stamps = (vocabulary.name, f"documents={vocabulary.documents}", f"analyser={vocabulary.analyser}")
    return "\t".join((_FORMAT, *stamps, f"sha256={_digest(body)}")) + "\n" + body


def parse_vocabulary(text: str, source: str) -> Vocabulary:
    """Raises `InputError`, naming `source`, for what is no vocabulary, another format, changed by hand, or cut into
    words by other rules than this version's (another version of Unicode is no other rule: it knows more characters)."""
    head, _, body = text.partition("\n")
    match head.split("\t"):
        case [format_, name, documents, analyser, digest] if format_ == _FORMAT:
            pass
        case _:
            raise InputError(f"{source} is no vocabulary: its first line is {head[:80]!r}", _AGAIN)
    if digest != f"sha256={_digest(body)}":
        raise InputError(f"{source} is not as it was made: its contents have another checksum", _AGAIN)
    rules = analyser.removeprefix("analyser=")
    if rules.partition("/")[0] != ANALYSER.partition("/")[0]:
        raise InputError(f"{source} has words by the rules {rules}, and this version cuts by {ANALYSER}", _AGAIN)
    frequencies = {}
    for line in body.removesuffix("\n").split("\n"):
        word, _, count = line.partition("\t")
        frequencies[word] = int(count)
    return Vocabulary(name, int(documents.removeprefix("documents=")), frequencies, rules)


def read_vocabulary(path: Path) -> Vocabulary:
    """Raises `InputError` for a file that cannot be read, and as `parse_vocabulary`."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"the vocabulary {path} cannot be read: {error.strerror}", "fix its path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the vocabulary {path} is no text in UTF-8", _AGAIN) from error
    return parse_vocabulary(text, str(path))


def split_documents(text: str) -> Iterator[str]:
    """The paragraphs of a text: what stands between empty lines."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []


def _digest(body: str) -> str:
    return sha256(body.encode("utf-8")).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Writes the vocabulary of text files to the standard output."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m triplecast.operators.box.vocabulary",
        description="In how many documents of a corpus each word occurs; a paragraph is a document.",
    )
    parser.add_argument("name", help="another one for another corpus, such as news-2026")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a text in UTF-8")
    parser.add_argument("--least", type=int, default=2, metavar="N", help="words of fewer documents are left out (2)")
    asked = parser.parse_args(arguments)
    try:
        texts = [path.read_text("utf-8") for path in asked.files]
        vocabulary = count_vocabulary(
            asked.name, (each for text in texts for each in split_documents(text)), asked.least
        )
    except (OSError, UnicodeDecodeError, InputError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.stdout.buffer.write(format_vocabulary(vocabulary).encode("utf-8"))
    print(f"{vocabulary.documents} documents, {len(vocabulary.frequencies)} words", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
