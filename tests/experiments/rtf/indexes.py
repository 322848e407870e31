"""The paper's algorithms by name."""

from __future__ import annotations

from experiments.rtf.corrections import CORRECTED, Form
from experiments.rtf.forest import TrieForest, Variant
from experiments.rtf.ibroker import InvertedIndex

ALGORITHMS = ("RTFm", "RTFs", "iBroker")


def make_index(algorithm: str, form: Form = CORRECTED) -> TrieForest | InvertedIndex:
    return InvertedIndex(form) if algorithm == "iBroker" else TrieForest(Variant(algorithm), form)
