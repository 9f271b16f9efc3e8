"""Words: the kernels against a regular expression over classes of characters."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation import words
from bert_data.curation.characters import class_of
from bert_data.curation.words import count_words_in, cut_words, runs_of_marked, split_words
from tests.hypotheses import examples
from tests.rows import mostly_slow

# A text as the letters of its classes: b(lank) f(ormat) m(ark) l(ower) u(pper) o(ther) n(umber)
# c(hinese), s(ymbol), and the characters that have a class of their own.
CLASSES = "bfmluoncs'.,_-"
CLITIC = "(?:[luo][fmluon]?(?![fmluon]))"
RUN = (
    rf"(?:[luon]|(?<=[fmluon])'(?={CLITIC}))"
    rf"(?:[fmluon]|(?<!l)\.(?=[luon])|\.(?=[lon])|(?<=n),(?=n)|(?<=n)-(?=[luo])|(?<!n)-(?=n)|_(?=[luon])|'(?=[luon])(?!{CLITIC}))*"
)
WORD = re.compile(rf"{RUN}|(?:\.+|-+|[^bf])[fm]*")


def split_slowly(text):
    classes = "".join(CLASSES[class_of(char)] for char in text)
    return [match.span() for match in WORD.finditer(classes)]


def hash_slowly(word):
    mask = 2**64 - 1
    mixed = 0x9E3779B97F4A7C15 + len(word)
    for start in range(0, len(word), 3):
        three = sum(ord(char) << 21 * place for place, char in enumerate(word[start : start + 3]))
        mixed = (mixed ^ three) * 0xBF58476D1CE4E5B9 & mask
        mixed ^= mixed >> 29
    mixed = (mixed ^ mixed >> 32) * 0x94D049BB133111EB & mask
    return mixed ^ mixed >> 31


def assert_split_as_defined(text):
    words = split_words(text)
    spans = list(zip(words.starts.tolist(), words.ends.tolist(), strict=True))
    assert spans == split_slowly(text)
    strings = [text[start:end] for start, end in spans]
    assert words.strings() == strings
    assert len(words) == len(spans) == count_words_in(text)
    assert words.hashes.tolist() == [hash_slowly(word) for word in strings]
    kinds = ["".join(CLASSES[class_of(char)] for char in word) for word in strings]
    assert words.is_unspaced.tolist() == [kind[0] == "c" for kind in kinds]
    assert words.counts == (
        len(strings),
        words.is_symbol.sum(),
        words.is_unspaced.sum(),
        sum(bool(re.search("[luoc]", kind)) for kind in kinds),
        sum("\uac00" <= word[0] <= "\ud7a3" for word in strings),
        words.lengths[~words.is_symbol].sum(),
    )
    assert words.is_symbol.tolist() == [not re.search("[luocn]", kind) for kind in kinds]
    assert words.lengths.tolist() == [len(word) for word in strings]
    assert "".join(map(chr, words.codes)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.5 km, no?", "It|'s|3.5|km|,|no|?"),
        ("机器 learning…", "机|器|learning|…"),
        ("they’re O'Brien's, l'homme", "they|’re|O'Brien|'s|,|l'homme"),
        ("don't 'quote' '90s", "don|'t|'|quote|'|'|90s"),
        ("e.g. U.S. end.Next a.b www.x.org", "e.g|.|U.S|.|end|.|Next|a.b|www.x.org"),
        ("1,000 10:30 1/2 a,b a:b 2,b a/b", "1,000|10:30|1/2|a|,|b|a|:|b|2|,|b|a|/|b"),
        ("U-10 5-year 5-6 U--10 -5", "U-10|5-year|5|-|6|U|--|10|-|5"),
        ("well-known -- a--b ... .. .", "well|-|known|--|a|--|b|...|..|."),
        ("snake_case _x_ a__b", "snake_case|_|x|_|a|_|_|b"),
        ("$5 10% #tag a@b.c!!", "$|5|10|%|#|tag|a|@|b.c|!|!"),
        ("東京タワーは高い。", "東|京|タ|ワ|ー|は|高|い|。"),
        ("กำลัง ไป", "ก|ำ|ลั|ง|ไ|ป"),  # SARA AM is a letter to Unicode
        ("한국어를 배운다", "한국어를|배운다"),
        ("inter\u00adnational e\u0301te", "inter\u00adnational|e\u0301te"),
        ("\ufeffa\u200bb \x00\x00", "a|b|\x00|\x00"),
        ("❤\ufe0f x", "❤\ufe0f|x"),
    ],
)
def test_words_of_texts(text, expected):
    assert split_words(text).strings() == expected.split("|")
    assert_split_as_defined(text)


# Characters of all classes, those with rules of their own more often, surrogates and nulls too.
RULED = st.sampled_from("ab' AB'’..,:__--  12中ก\u0301\u00ad\u200d\n!#…\x00\ud800\U0001f469é")
ANY = st.characters()


@examples(300)
@given(st.text(st.one_of(RULED, RULED, ANY), max_size=60))
@example("a'b'")
@example("a'")
@example("'")
@example("a.'b")
@example("a'\u0301bc a'b\u0301c a'b\u0301")
@example("\ud800\udc00")
def test_words_are_as_defined(text):
    assert_split_as_defined(text)


@mostly_slow("part", ["a", ".", "'", "a'", "-", "\u0301", "中", "1,", "a.", "\x00", " "])
def test_huge_lines(part):
    text = part * 100_000
    words = split_words(text)
    assert list(zip(words.starts.tolist(), words.ends.tolist(), strict=True)) == split_slowly(text)


def test_a_text_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(words, "MAX_CHARACTERS", 3)
    with pytest.raises(ValueError, match="a text of 4 characters; at most 3 are allowed"):
        split_words("abcd")


@given(st.lists(st.booleans()))
def test_runs_of_marked(marks):
    runs = runs_of_marked(np.array(marks, bool)).tolist()
    again = [any(begin <= i < end for begin, end in runs) for i in range(len(marks))]
    assert again == marks
    assert all(one[1] < other[0] for one, other in itertools.pairwise(runs))


@pytest.mark.parametrize(
    ("text", "runs", "left"),
    [
        ("a b c d", [(1, 2)], "a c d"),
        ("a b\n\nc d", [(1, 2)], "a\n\nc d"),
        ("a\n\nb c d", [(1, 2)], "a\n\nc d"),
        (" a b c\n", [(0, 1)], "b c\n"),
        ("a b c\n", [(2, 3)], "a b"),
        ("a b c", [(0, 3)], ""),
        ("a b c d e", [(0, 1), (2, 3), (4, 5)], "b d"),
        ("(a),b", [(1, 2)], "(),b"),
        ("我们学习", [(1, 3)], "我习"),
    ],
)
def test_spaces_around_cuts(text, runs, left):
    assert cut_words(split_words(text), runs) == left


@given(st.lists(st.sampled_from(["a", "bc", "d"]), min_size=1, max_size=12), st.data())
def test_the_other_words_are_left(names, data):
    marks = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    runs, start = [], None
    for place, mark in enumerate([*marks, False]):
        if mark and start is None:
            start = place
        elif not mark and start is not None:
            runs.append((start, place))
            start = None
    space = data.draw(st.sampled_from([" ", "\n", "\n\n"]))
    left = cut_words(split_words(space.join(names)), runs)
    assert left == space.join(n for n, mark in zip(names, marks, strict=True) if not mark)
