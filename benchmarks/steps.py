"""Single steps of matching one segment, which the product does in one call or for several segments together."""

from __future__ import annotations

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.layout import I32, Encoded
from triplecast.kernels.runs import MatchedRuns
from triplecast.kernels.sheets import Sheets
from triplecast.kernels.views import Views
from triplecast.kernels.wordbank import WordBank, cut_texts, no_words
from triplecast.match.segment import Scratch, make_sheets, match_runs, publications_of
from triplecast.match.views import encode_found, find_identity, mark_views_texts


def encode(segment: Segment, views: Views) -> Encoded:
    """A batch in the numbers of one segment."""
    bank = cut_views_texts(segment, views)
    return encode_found(segment, views, find_identity(segment, views.terms), bank, np.zeros(0, np.int64))


def cut_views_texts(segment: Segment, views: Views) -> WordBank:
    """The words of the literals whose words a segment searches for."""
    if not segment.uses_words:
        return no_words()
    return cut_texts(views.terms, mark_views_texts(segment, views, find_identity(segment, views.terms)))


def match_ids(segment: Segment, views: Views, encoded: Encoded, scratch: Scratch) -> tuple[I32, I32]:
    """(publication, member) of every conjunction with a solution, decided or candidate, grouped by publication."""
    matched = match_runs(segment, encoded, scratch)
    return publications_of(views, matched), matched.subscription


def match_rows(segment: Segment, views: Views, encoded: Encoded, scratch: Scratch) -> tuple[MatchedRuns, Sheets]:
    """Matches with bindings as arrays of term numbers."""
    matched = match_runs(segment, encoded, scratch)
    return matched, make_sheets(segment, views, encoded, matched, scratch)
