"""Texts and full-text conditions: a selection is drawn near the words of a text, so that it meets it or misses it by
little (a place, a letter, a mark)."""

from __future__ import annotations

from random import Random

from tests.properties.literals import ENGLISH, TEXT, UNSTEMMED, Member
from tests.reference import queries as q
from tests.reference.expressions import holds
from tests.reference.fulltext import Both, Chain, Either, Filtered, Never, Phrase, Selection, Word, cosine
from tests.reference.terms import XSD, Term, literal
from tests.reference.values import NotDetermined
from tests.reference.wording import LEXICON, SEPARATORS, words_of

_LANGUAGES = (("", TEXT), ("", TEXT), ("en", ENGLISH), ("en", ENGLISH), ("en-gb", ENGLISH), ("xx", UNSTEMMED))


def text_cluster(random: Random) -> list[Member]:
    """Texts of a few words, some of them the same words in another order or another language."""
    members = []
    words = _some_words(random)
    for _ in range(8):
        again = random.random() < 0.4
        words = tuple(random.sample(words, len(words))) if again else _some_words(random)
        language, kind = random.choice(_LANGUAGES)
        text = "".join(word.written + random.choice(SEPARATORS) for word in words)
        members.append(Member(kind, literal(text, language=language)))
    return members


def _some_words(random: Random) -> tuple[Word, ...]:
    few = random.sample(LEXICON, random.randint(2, 6))
    return tuple(random.choice(few) for _ in range(random.randint(1, 8)))


def words_in(value: Term) -> tuple[Word, ...]:
    """The words of a text that full text can be asked of; none of any other term."""
    if value[0] != "literal":
        return ()
    try:
        return words_of(value[1])
    except NotDetermined:
        return ()


def text_condition(argument: q.Expression, value: Term, random: Random) -> q.Expression:
    """``ft:contains``, sometimes ``ft:score``, near the words of `value`; more often than not it is true of it."""
    wanted = random.random() < 0.6
    for _ in range(6):
        made = _text_condition(argument, words_in(value), random)
        if not wanted or _is_true_of(made, argument, value):
            break
    return made


def text_turn(value: Term, random: Random) -> q.Expression:
    """What the census owes to texts: a bound of a filter, or any selection, of the object of a pattern."""
    words, draw = words_in(value), random.random()
    if draw < 0.35 and len(words) > 1:
        return q.FullText(q.Var("o"), at_the_bound(words, random))
    if draw < 0.75:
        return q.FullText(q.Var("o"), for_the_index(words, random))
    return text_condition(q.Var("o"), value, random)


def _text_condition(argument: q.Expression, words: tuple[Word, ...], random: Random) -> q.Expression:
    if random.random() < 0.12:
        return _score_condition(argument, words, random)
    return q.FullText(argument, selection_near(words, random, random.choice((0, 1, 1, 2))))


def _is_true_of(condition: q.Expression, argument: q.Expression, value: Term) -> bool:
    try:
        return isinstance(argument, q.Var) and holds(condition, {argument.name: value}, None)
    except NotDetermined:
        return False


def _score_condition(argument: q.Expression, words: tuple[Word, ...], random: Random) -> q.Expression:
    terms = tuple(random.choice(words) if words and random.random() < 0.7 else random.choice(LEXICON) for _ in range(2))
    score = cosine(words, terms)
    bound = literal(f"{max(0.0, score + random.choice((-0.1, -0.001, 0.001, 0.1))):.4f}", XSD + "decimal")
    if random.random() < 0.2:
        bound = literal("0", XSD + "integer")
    called = q.Call("ft:score", (argument, q.Constant(literal(" ".join(word.written for word in terms)))))
    if random.random() < 0.2:
        return q.Compare(random.choice(("<", "<=")), q.Constant(bound), called)
    return q.Compare(random.choice((">", ">=", ">=", "<")), called, q.Constant(bound))


def selection_near(words: tuple[Word, ...], random: Random, depth: int, negate: bool = True) -> Selection:
    """`negate`: ftnot may stand in it."""
    kind = random.choice(("phrase", "both", "both", "either", "never", "chain", "filtered", "filtered", "short"))
    if depth == 0 or kind == "phrase":
        return phrase_near(words, random)
    if kind == "never" and negate:
        return Never(selection_near(words, random, depth - 1))
    if kind == "short":
        parts = tuple(Phrase((_word_near(words, random),)) for _ in range(random.choice((2, 2, 3))))
        return random.choice((Both, Either))(parts, True)
    if kind == "chain":
        parts = tuple(phrase_near(words, random) for _ in range(random.choice((2, 2, 3))))
        return Chain(parts, tuple((low := random.randint(0, 2), low + random.randint(0, 3)) for _ in parts[1:]))
    if kind == "filtered" and len(words) > 1 and random.random() < 0.6:
        return at_the_bound(words, random)
    if kind == "filtered":
        return _filtered(selection_near(words, random, depth - 1, False), random)
    parts = tuple(selection_near(words, random, depth - 1, negate) for _ in range(2))
    return Either(parts) if kind == "either" else Both(parts)


def _filtered(inner: Selection, random: Random) -> Selection:
    if isinstance(inner, Phrase):
        inner = Both((inner, Phrase((random.choice(LEXICON),))))
    rule = random.choice(("ordered", "window", "distance", "distance"))
    if rule != "distance":
        return Filtered(inner, rule, None, random.randint(2, 6) if rule == "window" else None)
    low = random.randint(0, 2)
    least, most = random.choice(((None, low), (None, low + 1), (low, None), (low, low), (low, low + 2)))
    return Filtered(inner, rule, least, most)


def at_the_bound(words: tuple[Word, ...], random: Random) -> Filtered:
    """Two words of a text, with a distance or window that just holds for them or just does not."""
    left, right = sorted(random.sample(range(len(words)), 2))
    pair = [Phrase((words[left],)), Phrase((words[right],))]
    random.shuffle(pair)
    if random.random() < 0.25:
        return Filtered(Both(tuple(pair)), "ordered")
    between = right - left - 1
    off = random.choice((-1, 0, 0, 0, 1))
    if random.random() < 0.4:
        return Filtered(Both(tuple(pair)), "window", None, max(1, between + 2 + off))
    bound = max(0, between + off)
    least, most = random.choice(((None, bound), (None, bound), (bound, None), (bound, bound)))
    return Filtered(Both(tuple(pair)), "distance", least, most)


def for_the_index(words: tuple[Word, ...], random: Random) -> Selection:
    """Words and phrases without options, all of which the text has, or all but one."""
    parts = []
    for _ in range(random.choice((1, 2, 2, 3))):
        start, size = random.randrange(len(words)), random.choice((1, 2, 2, 3))
        parts.append(Phrase(words[start : start + size]))
    if random.random() < 0.3:
        parts[-1] = Phrase((random.choice(LEXICON),))
    if random.random() < 0.3:
        return Both(tuple(Phrase(part.words[:1]) for part in (*parts, parts[0])), True)
    return Both(tuple(parts)) if len(parts) > 1 else parts[0]


def phrase_near(words: tuple[Word, ...], random: Random) -> Phrase:
    """Words side by side, mostly as the text has them, some in another spelling, some others."""
    size = random.choice((1, 1, 1, 2, 2, 3))
    if words and random.random() < 0.85:
        start = random.randrange(len(words))
        chosen = tuple(_respelt(word, random) for word in words[start : start + size])
    else:
        chosen = tuple(random.choice(LEXICON) for _ in range(size))
    draw = random.random()
    if draw < 0.5:
        return Phrase(chosen)
    if draw < 0.6:
        return Phrase(tuple(_pattern_of(word, random) for word in chosen), random.random() < 0.2, wildcards=True)
    options = ((True, False, False), (False, True, False), (True, True, False), *((False, False, True),) * 3)
    return Phrase(chosen, *random.choice(options))


def _word_near(words: tuple[Word, ...], random: Random) -> Word:
    return _respelt(random.choice(words), random) if words and random.random() < 0.75 else random.choice(LEXICON)


def _respelt(word: Word, random: Random) -> Word:
    """The same word, one that is equal to it in some form, or now and then any other."""
    draw = random.random()
    if draw < 0.55:
        return word
    near = [other for other in LEXICON if other.folded == word.folded or (word.stem and other.stem == word.stem)]
    return random.choice(near) if near and draw < 0.95 else random.choice(LEXICON)


def _pattern_of(word: Word, random: Random) -> Word:
    """The word with a wildcard in the place of some of its letters, which neither folding nor case changes."""
    text = word.written
    cut = random.randrange(len(text))
    sign, gone = random.choice(((".", 1), (".?", 1), (".*", 2), (".+", 1), (".{1,3}", 2), (".{0,2}", 1), (".*", 0)))
    spelt = text[:cut] + sign + text[cut + gone :]
    bare = spelt.translate(_UNMARKED)
    return Word(spelt, spelt.lower(), bare, bare.lower(), None)


_UNMARKED = str.maketrans("éÉï", "eEi")
