"""Full text: words, selections, and whether a literal satisfies one (semantics 5)."""

from triplecast.text.grammar import parse_selection
from triplecast.text.matching import find_spans, holds, show_spans
from triplecast.text.query import TextFault, TextRefused
from triplecast.text.score import score
from triplecast.text.words import ANALYSER, words_of

FT = "urn:triplecast:ft:"
CONTAINS = FT + "contains"
SCORE = FT + "score"

__all__ = [
    "ANALYSER", "CONTAINS", "FT", "SCORE", "TextFault", "TextRefused", "find_spans", "holds", "parse_selection",
    "score", "show_spans", "words_of",
]  # fmt: skip
