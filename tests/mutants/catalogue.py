"""The faults: in which file which text becomes which. Each is a mistake that somebody could make.

Those that leave the kernels alone come first: they need no compilation of their own.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    file: str
    """Below src/triplecast."""
    old: str
    """Occurs exactly once in the file."""
    new: str
    tests: tuple[str, ...] = ()
    """Files of tests that catch it; without them the differential test does."""


ANSWERS = ("tests/unit/match/test_answer_limit.py",)
OUTBOX = (
    "tests/unit/outbox/test_chunks.py",
    *(f"tests/unit/outbox/test_outbox{name}.py" for name in ("", "_late", "_end", "_writer", "_filters")),
)
TOGETHER = ("tests/unit/engine/test_publishing_together.py",)
SINGLE = ("tests/unit/match/test_single.py",)
NEXT_KEYS = ("tests/unit/match/test_next_keys.py",)
SPANS = ("tests/unit/match/test_spans.py",)
RECORDS = ("tests/unit/journal/test_subscription_blocks.py",)
STORE = ("tests/unit/repository/test_store.py",)
QUERIED = ("tests/unit/repository/test_query_store.py",)
CACHED = ("tests/unit/repository/test_repository.py",)
TOLD = ("tests/properties/test_told.py",)
ASKED = ("tests/unit/engine/test_standing_operators.py", "tests/properties/test_standing_operators.py")
STANDING = ("tests/properties/test_standing.py", "tests/unit/engine/test_standing_costs.py")


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "an-answer-of-exactly-the-limit-dropped",
        "match/answer_limit.py",
        "self._sizes[publication] > self.limit or",
        "self._sizes[publication] >= self.limit or",
        ANSWERS,
    ),
    Mutant(
        "cuts-of-another-limit-forgotten",
        "match/answer_limit.py",
        "        for publication, cut in other.cuts.items():\n            self._cut(publication, cut)\n",
        "",
        ANSWERS,
    ),
    Mutant(
        "answers-of-publications-counted-together",
        "match/answer_limit.py",
        "spent = before[1:] - np.repeat(before[starts], np.diff(np.append(starts, len(publication))))",
        "spent = before[1:]",
        ANSWERS,
    ),
    Mutant(
        "too-long-answers-take-room",
        "match/segment_matches.py",
        "short = size <= PAIR_BYTES",
        "short = size >= 0",
        ANSWERS,
    ),
    Mutant(
        "pairs-without-room-when-settled-not-undecided",
        "operators/asking/rounds.py",
        "reasons.update(((each.publication, each.registration), each.reason) for each in self.limit.undecided())",
        "pass",
        ANSWERS,
    ),
    Mutant(
        "what-a-slice-leaves-twice-forgotten",
        "pipeline/match_jobs.py",
        "    if bounds[-1] < left.upto:\n",
        "    if False:\n",
        ("tests/unit/pipeline/test_stages.py",),
    ),
    Mutant(
        "pieces-recorded-from-the-first-on",
        "engine/matching.py",
        "                after = part.upto\n",
        "",
        ("tests/unit/engine/test_told_first.py",),
    ),
    Mutant(
        "settling-not-noted-beside-the-journal",
        "driver/driver.py",
        "        self._note_outbox()\n        return settled\n",
        "        return settled\n",
        ("tests/unit/engine/test_told_first.py",),
    ),
    Mutant(
        "name-of-an-opened-segment-given-again",
        "index/segment_store.py",
        "            self._last = max(self._last, number_of(name))\n",
        "            pass\n",
        ("tests/unit/engine/test_engine_durable.py",),
    ),
    Mutant(
        "constant-on-the-left-not-mirrored",
        "model/comparison_codes.py",
        '"<": ">", "<=": ">=", ">": "<", ">=": "<="}',
        '"<": "<", "<=": ">=", ">": "<", ">=": "<="}',
    ),
    Mutant(
        "not-less-is-at-least",
        "compile/comparisons.py",
        '_NEGATED = {"=": "!=", "!=": "=", "in": "not in", "not in": "in"}',
        '_NEGATED = {"=": "!=", "!=": "=", "in": "not in", "not in": "in", "<": ">="}',
    ),
    Mutant(
        "or-keeps-one-clause-of-and",
        "compile/comparisons.py",
        "part is not None and len(part.clauses) == 1]",
        "part is not None and len(part.clauses) >= 1]",
    ),
    Mutant(
        "inexact-constant-decided",
        "compile/constants.py",
        "    if tie != 0:\n",
        "    if tie > 1:\n",
    ),
    Mutant(
        "optional-is-required",
        "compile/necessary.py",
        "        case algebra.Join(left, right):\n",
        "        case algebra.Join(left, right) | algebra.LeftJoin(left, right, _):\n",
    ),
    Mutant(
        "zero-length-path-needs-a-step",
        "compile/necessary.py",
        "            if at_least == 0:\n                return ANYTHING\n",
        "            if at_least == 0 and many:\n                return ANYTHING\n",
    ),
    Mutant(
        "not-exists-is-exists",
        "compile/comparisons.py",
        "return None if expression.negated != negated else FilterConditions(",
        "return FilterConditions(",
    ),
    Mutant(
        "unextended-row-kept-beside-its-extension",
        "compile/cases.py",
        "alone = (*base.tests, Test(tuple(choices), False)) if choices else base.tests",
        "alone = base.tests",
    ),
    Mutant(
        "what-is-optional-looks-at-shared-names-only",
        "compile/cases.py",
        "shared = _shared(base.conjunction, extension, condition)",
        "shared = _shared(base.conjunction, extension)",
    ),
    Mutant(
        "value-that-fails-drops-its-row",
        "residual/plans.py",
        "        if value is None or self.value < 0:\n            return (row,)\n",
        "        if value is None or self.value < 0:\n            return ()\n",
    ),
    Mutant(
        "minus-removes-without-a-variable-in-common",
        "compile/cases.py",
        "for each, names in shared if names)",
        "for each, names in shared)",
    ),
    Mutant(
        "repeated-values-counted-once",
        "compile/cases.py",
        "            if len(texts) == len(rows):\n",
        "            if texts:\n",
    ),
    Mutant(
        "rows-of-a-union-counted-once",
        "residual/agreement.py",
        "if combination.distinct else made\n",
        "if combination.distinct or len(combination.parts) > 1 else made\n",
    ),
    Mutant(
        "exists-is-not-exists",
        "residual/agreement.py",
        "is check.wanted]",
        "is not check.wanted]",
    ),
    Mutant(
        "only-the-first-check-counts",
        "residual/agreement.py",
        "    for check in part.checks:\n        choices = ",
        "    for check in part.checks[:1]:\n        choices = ",
    ),
    Mutant(
        "removal-forgotten",
        "match/segment.py",
        "self._positions[publication[pairs]] < removals.position[at]",
        "self._positions[publication[pairs]] > 0",
    ),
    Mutant(
        "parents-for-ancestors",
        "match/closures.py",
        "        yield {term: reached[1:] for term, reached in walk_all(_edges(triples, word)).items()}\n",
        "        one_step = word == schema.words.sub_class\n"
        "        yield {t: r[1:2] if one_step else r[1:] for t, r in walk_all(_edges(triples, word)).items()}\n",
    ),
    Mutant(
        "superproperties-one-step",
        "match/closures.py",
        "        yield {term: reached[1:] for term, reached in walk_all(_edges(triples, word)).items()}\n",
        "        one_step = word == schema.words.sub_property\n"
        "        yield {t: r[1:2] if one_step else r[1:] for t, r in walk_all(_edges(triples, word)).items()}\n",
    ),
    Mutant(
        "direct-instance-for-any",
        "match/closures.py",
        "            elif mark in ground.down:\n",
        "            elif mark in ground.down and mark is not Mark.DESCENDANT:\n",
    ),
    Mutant(
        "broader-not-in-the-order",
        "match/closures.py",
        "    order = _edges(triples, *schema.orders)\n",
        "    order = _edges(triples, schema.words.sub_class)\n",
    ),
    Mutant(
        "class-not-its-own-type",
        "match/closures.py",
        "    classes[[number[text] for text in taxonomy.classes]] = 1\n",
        "    classes[[number[text] for text in taxonomy.classes]] = 0\n",
    ),
    Mutant(
        "own-rules-forgotten",
        "match/entailed.py",
        'alone[np.searchsorted(views.offsets, rows, side="right") - 1] = 1',
        'alone[np.searchsorted(views.offsets, rows, side="right") - 1] = 0',
    ),
    Mutant(
        "new-taxonomy-one-publication-late",
        "taxonomy/read.py",
        "            if version.position < position:\n",
        "            if version.position < position - 1:\n",
    ),
    Mutant(
        "second-word-of-a-phrase-anywhere",
        "text/matching.py",
        "all(start + at in sets[at] for at in range(1, length))",
        "all(start + at in sets[at] for at in range(2, length))",
    ),
    Mutant(
        "distance-bound-off-by-one",
        "text/matching.py",
        "(most is None or gap <= most)",
        "(most is None or gap < most)",
    ),
    Mutant(
        "window-one-word-wider",
        "text/matching.py",
        "if whole.end - whole.start < size:",
        "if whole.end - whole.start <= size:",
    ),
    Mutant(
        "stem-dropped",
        "text/matching.py",
        "stemmer_of(self.language) if options.stemming else None",
        "None",
    ),
    Mutant(
        "stems-filed-as-words",
        "text/needed.py",
        "    if phrase.options.stemming or phrase.options.wildcards:\n",
        "    if phrase.options.wildcards:\n",
    ),
    Mutant(
        "ftnot-at-the-anchor",
        "text/needed.py",
        "    if isinstance(selection, Not):\n        return Needed(((),), False)\n",
        "    if isinstance(selection, Not):\n        return _needed(selection.part)._replace(exact=False)\n",
    ),
    Mutant(
        "ftor-needs-all",
        "text/needed.py",
        "        return Needed(_any_of(parts), False)\n",
        "        return Needed(_all_of(parts), False)\n",
    ),
    Mutant(
        "case-decided-in-the-index",
        "text/needed.py",
        'return Needed(((" ".join(words),),), phrase.options == PLAIN)',
        'return Needed(((" ".join(words),),), not phrase.options.marks)',
    ),
    Mutant(
        "second-value-tells-its-range-again",
        "kernels/trees.py",
        "                low, low_end = low_end, max(low_end, high)\n",
        "                low_end = max(low_end, high)\n",
    ),
    Mutant(
        "value-of-another-subject-in-a-star",
        "kernels/trees.py",
        "        if (common >> ordinal) & np.uint64(1) != np.uint64(0):\n",
        "        if common != np.uint64(0):\n",
    ),
    Mutant(
        "span-has-its-bounds",
        "kernels/runs.py",
        "(number > uppers[entry])",
        "(number >= uppers[entry])",
        SPANS,
    ),
    Mutant(
        "spans-are-open-above",
        "kernels/entries.py",
        "SPAN + (items.atom_code[upper, 1] == AT_MOST)",
        "SPAN",
        SPANS,
    ),
    Mutant(
        "upper-bound-seen-as-the-lower-one",
        "kernels/conditions.py",
        "    if operator >= SPAN and strict:\n",
        "    if operator >= SPAN and lane < 0:\n",
        SPANS,
    ),
    Mutant(
        "spans-without-a-bound-among-many",
        "kernels/entries.py",
        "    few = count[number] <= FEW\n",
        "    few = count[number] > 0\n",
        SPANS,
    ),
    Mutant(
        "value-of-another-subject-alone-in-a-star",
        "kernels/trees.py",
        "_find_hit(encoded, view, hits, chain[hit, 1], common)\n        only",
        "-1\n        only",
    ),
    Mutant(
        "merged-spans-lose-their-upper-bounds",
        "kernels/unfold.py",
        "        return 2 if operator >= SPAN and _has_lower(index, entry) and _has_upper(index, entry) else 1\n",
        "        return 1\n",
        SPANS,
    ),
    Mutant(
        "at-least-bound-off-by-one",
        "kernels/conditions.py",
        "    if operator == AT_LEAST:\n        return start, _first_beyond(",
        "    if operator == AT_LEAST:\n        return start, _first_from(",
    ),
    Mutant(
        "residual-at-most-is-less",
        "kernels/conditions.py",
        "        return number <= constant\n",
        "        return number < constant\n",
    ),
    Mutant(
        "no-zone-shift",
        "kernels/conditions.py",
        "ZONE_SPAN = 14 * 3600 * 1000.0",
        "ZONE_SPAN = 0.0",
    ),
    Mutant(
        "unequal-across-zones-always-true",
        "kernels/conditions.py",
        "return FAR_TRUE, exact, False",
        "return ALL_TRUE, exact, False",
    ),
    Mutant(
        "tie-of-exact-numbers-ignored",
        "kernels/conditions.py",
        "            if kind == _EXACT:\n                return BY_NUMBER, exact, False",
        "            if kind == _EXACT:\n                return BY_NUMBER, number, False",
    ),
    Mutant(
        "float-not-rounded-with-a-decimal",
        "kernels/conditions.py",
        "return (BY_SINGLE if kind == _FLOAT else BY_NUMBER), number, False",
        "return BY_NUMBER, number, False",
    ),
    Mutant(
        "ill-typed-is-unlike-everything",
        "kernels/conditions.py",
        "    if operator == UNEQUAL and kind != _CLASS_ILL:\n",
        "    if operator == UNEQUAL:\n",
    ),
    Mutant(
        "no-tag-is-an-unknown-tag",
        "kernels/conditions.py",
        "return (ALL_TRUE if operator == UNEQUAL else NONE_TRUE), 0.0, False\n        return BY_NUMBER, tag, False",
        "return NONE_TRUE, 0.0, False\n        return BY_NUMBER, tag, False",
    ),
    Mutant(
        "first-triple-has-no-keys",
        "kernels/probe.py",
        "for lookup in range(lookups - 1, -1, -1):",
        "for lookup in range(lookups - 1, 0, -1):",
    ),
    Mutant(
        "next-keys-of-one-subject-always",
        "kernels/build.py",
        "shared = subject >= 0 and subject == topology[anchor] >> 1\n",
        "shared = subject >= 0\n",
        NEXT_KEYS,
    ),
    Mutant(
        "next-keys-of-any-subject",
        "kernels/build.py",
        "shared = subject >= 0 and subject == topology[anchor] >> 1\n",
        "shared = False\n",
        NEXT_KEYS,
    ),
    Mutant(
        "repeated-variable-not-compared",
        "kernels/walk.py",
        "                    elif known != term:\n",
        "                    elif known != term and place < 2:\n",
    ),
    Mutant(
        "first-true-clause-decides",
        "kernels/conditions.py",
        "            clause_true = False\n        atom += 1\n",
        "            clause_true = True\n        atom += 1\n",
    ),
    Mutant(
        "constants-not-checked-on-the-short-way",
        "kernels/walk.py",
        "if key_terms[key, place] >= 0 and triples[triple, 3 + place] != key_terms[key, place]:",
        "if key_terms[key, place] >= 0 and place == 0 and triples[triple, 3] != key_terms[key, 0]:",
    ),
    Mutant(
        "duplicates-always-dropped",
        "kernels/rows.py",
        "                if answers.flags[answer] & DISTINCT_FLAG:\n",
        "                if answers.flags[answer] & DISTINCT_FLAG or count == 2:\n",
    ),
    Mutant(
        "rows-in-reverse-order",
        "kernels/row_order.py",
        "            return a < b\n    return bool(terms.length[left]",
        "            return a > b\n    return bool(terms.length[left]",
    ),
    Mutant(
        "two-rows-not-filtered",
        "kernels/rows.py",
        "    if entry < 0 or solutions == 1:\n",
        "    if entry < 0 or solutions <= 2:\n",
    ),
    Mutant(
        "string-between-bounds-equals-one",
        "kernels/resolve.py",
        "            ranks[term] = 2.0 * low\n",
        "            ranks[term] = 2.0 * low + 1.0\n",
    ),
    Mutant(
        "zone-sign-reversed",
        "kernels/literals.py",
        'return offset if text[i] == ord("+") else -offset',
        'return -offset if text[i] == ord("+") else offset',
    ),
    Mutant(
        "fraction-of-a-millisecond-lost",
        "kernels/literals.py",
        "        if weight == 0 and digit != 0:\n            tie = 1\n",
        "        if weight == 0 and digit != 0:\n            tie = 0\n",
    ),
    Mutant(
        "first-fact-keeps-its-predicate",
        "kernels/entailment.py",
        "    _raise_predicates(known, view, scratch, facts, table, 0)\n",
        "    _raise_predicates(known, view, scratch, facts, table, 1)\n",
    ),
    Mutant(
        "last-word-in-no-phrase",
        "kernels/pairing.py",
        "        while rest and word + length < last:\n",
        "        while rest and word + length < last - (length > 0):\n",
    ),
    Mutant(
        "pruning-forgets-the-first-publication-left",
        "outbox/pruning.py",
        "if left is None else left - 1)",
        "if left is None else left)",
        OUTBOX,
    ),
    Mutant(
        "pruning-overlooks-late-notifications",
        "outbox/pruning.py",
        "return first if late is None else min(first, late)",
        "return first",
        OUTBOX,
    ),
    Mutant(
        "undecided-pairs-pruned-beyond-progress",
        "outbox/pruning.py",
        "    upto = min(upto, state.progress)\n",
        "",
        OUTBOX,
    ),
    Mutant(
        "publication-deleted-that-an-undecided-pair-needs",
        "outbox/pruning.py",
        'DELETE FROM publication WHERE position <= ?", [(upto,)]',
        'DELETE FROM publication WHERE position <= ?", [(upto + 1,)]',
        OUTBOX,
    ),
    Mutant(
        "pruned-chunks-not-noted",
        "outbox/pruning.py",
        "[state.forgotten, *(last_position for _, _, last_position, late in whole if not late)]",
        "[state.forgotten]",
        OUTBOX,
    ),
    Mutant(
        "told-falls-in-a-replay",
        "outbox/outbox.py",
        "chunks, max(state.told, upto), bool(waiting)",
        "chunks, upto, bool(waiting)",
        OUTBOX,
    ),
    Mutant(
        "progress-includes-the-pending-publication",
        "outbox/outbox.py",
        "told if open is None else open - 1",
        "told if open is None else open",
        OUTBOX,
    ),
    Mutant(
        "last-publication-recorded-again",
        "outbox/outbox.py",
        "new = batch.between(state.told, upto)",
        "new = batch.between(state.told - 1, upto)",
        OUTBOX,
    ),
    Mutant(
        "prune-not-in-the-end-mark",
        "outbox/outbox.py",
        "            self._mark()\n            if after.pruned",
        "            if after.pruned",
        OUTBOX,
    ),
    Mutant(
        "pruned-chunks-merged-again",
        "outbox/outbox.py",
        "                self._chunk_writer.forget()\n                state = self.state\n",
        "                state = self.state\n",
        OUTBOX,
    ),
    Mutant(
        "end-mark-of-what-is-not-synced",
        "outbox/outbox.py",
        "return self._durable.mark",
        "return self._state.mark",
        ("tests/unit/engine/test_shared_syncs.py",),
    ),
    Mutant(
        "pending-pairs-not-synced",
        "outbox/outbox.py",
        "synced = not replayed or bool(batch.awaited or batch.undecided) or",
        "synced = not replayed or",
        ("tests/unit/outbox/test_waiting_commits.py",),
    ),
    Mutant(
        "outbox-never-synced",
        "outbox/outbox.py",
        " or self._unsynced >= UNSYNCED",
        "",
        ("tests/unit/engine/test_shared_syncs.py",),
    ),
    Mutant(
        "index-ahead-of-what-is-synced",
        "driver/driver.py",
        "state = self._outbox.durable",
        "state = self._outbox.state",
        ("tests/unit/engine/test_shared_syncs.py",),
    ),
    Mutant(
        "an-interrupt-is-everybodys", "engine/publishing.py", "except Exception as", "except BaseException as", TOGETHER
    ),
    Mutant("each-commits-alone", "engine/publishing.py", "len(group) < DOCUMENTS_AT_ONCE", "not group", TOGETHER),
    Mutant(
        "unchanged-documents-among-the-fresh",
        "journal/writer.py",
        '        if one.outcome == "accepted"\n',
        "",
        ("tests/unit/journal/test_versions.py",),
    ),
    Mutant(
        "versions-of-the-first-graphs-alone",
        "journal/versions.py",
        "range(0, len(wanted), GRAPHS_AT_ONCE)",
        "range(0, min(len(wanted), GRAPHS_AT_ONCE), GRAPHS_AT_ONCE)",
        ("tests/unit/journal/test_versions.py",),
    ),
    Mutant(
        "names-in-the-order-of-reading",
        "outbox/read_names.py",
        "joined[order], places[order]",
        "joined[order], places",
        ("tests/unit/outbox/test_read_names.py",),
    ),
    Mutant(
        "groups-ahead-out-of-order",
        "ingest/ahead.py",
        "coming.popleft().give()",
        "coming.pop().give()",
        ("tests/unit/ingest/test_ahead.py",),
    ),
    Mutant(
        "views-of-the-pending-are-sound",
        "kernels/views.py",
        "sound = sound and scanned.term_class[term] != PENDING",
        "pass",
        ("tests/unit/kernels", "tests/unit/match"),
    ),
    Mutant(
        "told-not-in-the-end-mark",
        "outbox/tables.py",
        "return self.epoch, self.told, self.sequence, self.pruned",
        "return self.epoch, self.sequence, self.sequence, self.pruned",
        OUTBOX,
    ),
    Mutant(
        "replay-of-a-forgotten-publication-differs",
        "outbox/outbox.py",
        "        after = max(after, self.state.forgotten)\n",
        "",
        OUTBOX,
    ),
    Mutant(
        "filter-of-the-next-registration",
        "outbox/chunk.py",
        "(0x80 >> (places & 7))",
        "(0x40 >> (places & 7))",
        OUTBOX,
    ),
    Mutant(
        "sheets-joined-with-one-number",
        "kernels/render.py",
        "np.int32(first - 1))[sheet]",
        "np.int32(-1))[sheet]",
        OUTBOX,
    ),
    Mutant(
        "lease-of-a-neighbour-lost",
        "journal/leases.py",
        "range(before + 1, after), end)",
        "range(before + 2, after), end)",
        RECORDS,
    ),
    Mutant(
        "subscriptions-before-the-range",
        "journal/reader.py",
        "max(block.ids.start, positions.start)",
        "block.ids.start",
        RECORDS,
    ),
    Mutant(
        "a-name-in-use-is-taken",
        "journal/taking.py",
        "rows) < len(rows):",
        "rows) < 0:",
        RECORDS,
    ),
    Mutant(
        "ticket-of-the-next-subscription",
        "journal/subscription_blocks.py",
        "place = id - self.ids.start\n",
        "place = id - self.ids.start + 1\n",
        RECORDS,
    ),
    Mutant(
        "the-old-document-released-before-the-new-is-counted",
        "kernels/timeline.py",
        "        filled += retain(stored, live, new[new_offsets[number] : new_offsets[number + 1]], rows[filled:])\n"
        "        came[start:filled] = 1\n"
        "        middle = filled\n"
        "        filled += release(stored, live, old[old_offsets[number] : old_offsets[number + 1]], rows[filled:])\n"
        "        came[middle:filled] = 0\n",
        "        filled += release(stored, live, old[old_offsets[number] : old_offsets[number + 1]], rows[filled:])\n"
        "        came[start:filled] = 0\n"
        "        middle = filled\n"
        "        filled += retain(stored, live, new[new_offsets[number] : new_offsets[number + 1]], rows[filled:])\n"
        "        came[middle:filled] = 1\n",
        STORE,
    ),
    Mutant(
        "equal-components-of-a-document-are-one",
        "repository/document_lines.py",
        "        occurrences[text] += 1\n",
        "",
        STORE,
    ),
    Mutant(
        "documents-share-blank-nodes",
        "repository/document_lines.py",
        "(graph.encode(), occurrences[text], text)",
        '(b"", occurrences[text], text)',
        STORE,
    ),
    Mutant(
        "names-of-graphs-forgotten-with-unused-terms",
        "repository/assembly.py",
        "triples, [graphs, *held])",
        "triples, held)",
        STORE,
    ),
    Mutant(
        "removed-documents-come-back-when-sorted",
        "repository/assembly.py",
        "    last = last[lengths[last] != REMOVED]\n    kept = lengths[last]\n",
        "    kept = np.maximum(lengths[last], 0)\n",
        STORE,
    ),
    Mutant("what-is-not-decided-is-told-alone", "kernels/single.py", "written.left == 0 and ", "", SINGLE),
    Mutant("words-not-cut-are-no-words", "kernels/single.py", "readable and mark != LEFT", "readable", SINGLE),
    Mutant(
        "a-value-not-known-yet-is-compared",
        "kernels/single.py",
        "if scanned.term_class[term] == PENDING:",
        "if fault > 0:",
        SINGLE,
    ),
    Mutant("no-room-alone-is-room", "kernels/single.py", " and written.bytes <= room", "", SINGLE),
    Mutant(
        "the-cache-of-another-journal-opened",
        "repository/repository.py",
        "len(events) == 1 and mark_of(events[0]) == cached.mark",
        "len(events) == 1",
        CACHED,
    ),
    Mutant(
        "an-optional-part-ignored",
        "incremental/stars.py",
        "                yield from _all_within(self.stars(right, inside), certain_names(left))\n"
        "            case algebra.Minus(left, right):",
        "            case algebra.Minus(left, right):",
        STANDING,
    ),
    Mutant(
        "seeds-of-an-optional-part-that-are-not-certain-on-its-left",
        "incremental/stars.py",
        "_all_within(self.stars(right, inside), certain_names(left))",
        "self.stars(right, inside)",
        STANDING,
    ),
    Mutant(
        "neighbours-that-a-removal-took-away-forgotten",
        "kernels/timeline.py",
        "                if fits and timeline.came[row] == 0:\n",
        "                if False:\n",
        STANDING,
    ),
    Mutant(
        "removed-triples-touch-nothing",
        "kernels/timeline.py",
        "            if predicate == timeline.rows[row, 1]:\n",
        "            if predicate == timeline.rows[row, 1] and timeline.came[row] == 1:\n",
        STANDING,
    ),
    Mutant(
        "events-netted-over-a-batch",
        "incremental/asked_graph.py",
        "        if self._place == self._last:\n",
        "        if self._last >= 0:\n",
        STANDING,
    ),
    Mutant(
        "an-undecided-answer-not-made-up-for",
        "incremental/standing_queries.py",
        "        before = standing.graph.before_event(since)\n",
        "        before = standing.graph.states(1).before\n",
        STANDING,
    ),
    Mutant(
        "what-came-and-went-again-is-held",
        "repository/held.py",
        "        if row in opposite:\n",
        "        if row in opposite and False:\n",
        STANDING,
    ),
    Mutant(
        "what-a-class-still-reaches-is-left-with-another",
        "repository/entailed.py",
        "        left.difference_update(reach_all(kept, taxonomy))\n",
        "",
        STANDING,
    ),
    Mutant(
        "stars-under-a-changed-class-not-written-anew",
        "repository/entailed.py",
        "            subjects |= self._concerned(changed)\n",
        "            subjects |= changed\n",
        STANDING,
    ),
    Mutant(
        "what-failed-is-decided-where-it-is-told-again",
        "incremental/owed.py",
        "return any(each.registration == registration and",
        "return any(False and",
        ASKED,
    ),
    Mutant(
        "what-was-owed-from-an-event-not-told-stays-owed",
        "incremental/owed.py",
        "self.is_changed = any(each.since > told and each.until is None for each in intervals)",
        "self.is_changed = False",
        ("tests/unit/engine/test_standing_owed.py",),
    ),
    Mutant(
        "rows-that-wait-for-operators-left-out",
        "evaluate/evaluation.py",
        "    if place.unknown:\n        raise Unanswered(place.unknown)\n\n\ndef hold_for",
        "\n\ndef hold_for",
        ASKED,
    ),
    Mutant(
        "what-an-operator-gave-forgotten-at-a-restart",
        "incremental/operator_answers.py",
        "if isinstance(answer, Found) and kept is not None:",
        "if isinstance(answer, Found) and kept is not None and self.work.operator_calls:",
        ASKED,
    ),
    Mutant(
        "what-was-made-up-for-within-a-run-not-noted",
        "incremental/standing_queries.py",
        "                        self.owed.end(number, event.position)\n",
        "                        del self.owed.since[number]\n",
        ASKED,
    ),
    Mutant(
        "the-earlier-row-is-the-later-one",
        "telling/conditions.py",
        "for name, term in before.items()}}",
        "for name, term in after.items()}}",
        TOLD,
    ),
    Mutant(
        "conditions-of-updates-not-asked-of-first-versions",
        "telling/telling.py",
        "yield Told(events[-1].position, self._kept(found))",
        "yield Told(events[-1].position, found)",
        TOLD,
    ),
    Mutant(
        "conditions-of-updates-not-asked-in-repository-scope",
        "engine/answers.py",
        "return hold_to_conditions(told, conditions) if conditions else told",
        "return told",
        TOLD,
    ),
    Mutant(
        "what-is-alike-is-named-as-before-whatever-it-refers-to",
        "ingest/canonical.py",
        "        key = (names, tuple(map(len, groups)), quads)\n",
        "        key = (tuple(map(len, groups)), len(quads))\n",
        ("tests/unit/ingest/test_descriptions.py",),
    ),
    Mutant(
        "a-term-that-no-document-has-is-any-term",
        "repository/store.py",
        "return NOWHERE if found < 0 else found",
        "return found",
        QUERIED,
    ),
    Mutant(
        "the-nodes-of-a-store-are-its-subjects",
        "repository/stored_graphs.py",
        "(ANY, ANY, ANY)[:, ::2]",
        "(ANY, ANY, ANY)[:, 0]",
        QUERIED,
    ),
    Mutant(
        "long-terms-of-a-store-are-free",
        "repository/stored_graphs.py",
        "self._budget.note(found)",
        "pass",
        QUERIED,
    ),
    Mutant(
        "a-name-of-the-next-record-is-known",
        "outbox/distinct.py",
        "(numbers < self.first[at]) |",
        "(numbers < 0) |",
        ("tests/unit/outbox/test_distinct.py",),
    ),
    Mutant(
        "names-begin-one-late",
        "outbox/stored_names.py",
        "zip(range(first, last + 1), names, owned, strict=True)",
        "zip(range(first, last + 1), names[1:] + names[:1], owned, strict=True)",
        OUTBOX,
    ),
)
