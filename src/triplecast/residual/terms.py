"""The terms of join rows by number."""

from __future__ import annotations

from collections.abc import Iterable

from triplecast.model.algebra import Term, from_ntriples


class NumberedTerms:
    """Numbers terms by their N-Triples text, so that equal terms have one number wherever they come from."""

    __slots__ = ("_numbers", "_terms", "texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: list[str] = list(texts)
        self._numbers = {text: number for number, text in enumerate(self.texts)}
        self._terms: list[Term | None] = [None] * len(self.texts)

    def number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
            self._terms.append(None)
        return number

    def term(self, number: int) -> Term:
        term = self._terms[number]
        if term is None:
            term = self._terms[number] = from_ntriples(self.texts[number])
        return term

    def text(self, number: int) -> str:
        return self.texts[number]
