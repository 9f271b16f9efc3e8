"""The vocabulary against a plain and slow trainer, and against the tokenizer that will use it."""

import collections
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokenization
from bert_data.text.documents import TextConfig
from bert_data.tokens import vocabulary_training
from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.vocabulary_training import VocabularyTrainingConfig, train_vocabulary
from tests.hypotheses import examples


def train(path: Path, **settings: object) -> list[str]:
    config = VocabularyTrainingConfig(
        input_files=(str(path),),
        work_dir=f"{path}.words",
        **settings,  # type: ignore[arg-type]
    )
    return list(train_vocabulary(config).tokens)


def plain_trainer(words: list[str], *, vocab_size: int, min_frequency: int) -> list[str]:
    """Counts every pair anew before each merge; of pairs of equal count, the one of smaller ids."""
    splits = {w: [w[0], *(f"##{c}" for c in w[1:])] for w in words}
    counts = collections.Counter(words)
    characters = {piece for split in splits.values() for piece in split} | set("".join(words))
    tokens = [*SPECIAL, *sorted(characters, key=lambda t: (len(t) > 1, t))]
    while len(tokens) < vocab_size:
        ids = {token: i for i, token in enumerate(tokens)}
        pairs: collections.Counter[tuple[str, str]] = collections.Counter()
        for word, split in splits.items():
            for pair in itertools.pairwise(split):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]))
        if pairs[best] < min_frequency:
            break
        merged = best[0] + best[1].removeprefix("##")
        if merged not in ids:
            tokens.append(merged)
        for split in splits.values():
            start = 0
            while start < len(split) - 1:
                if (split[start], split[start + 1]) == best:
                    split[start : start + 2] = [merged]
                start += 1
    return tokens


@examples(60)
@given(
    words=st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=60),
    vocab_size=st.integers(12, 40),
    min_frequency=st.integers(1, 3),
)
def test_equals_the_plain_trainer(tmp_path_factory, words, vocab_size, min_frequency):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(" ".join(words) + "\n", encoding="utf-8")
    expected = plain_trainer(words, vocab_size=vocab_size, min_frequency=min_frequency)
    assert train(path, vocab_size=vocab_size, min_frequency=min_frequency) == expected


def test_the_tokenizer_knows_every_word_of_the_text(small_text: Path, tmp_path: Path) -> None:
    tokens = train(small_text, vocab_size=60)
    assert tuple(tokens[:5]) == SPECIAL
    assert len(tokens) == len(set(tokens)) == 60
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    tokenizer = tokenization.FullTokenizer(vocab_file=str(path))
    text = small_text.read_text(encoding="utf-8")
    pieces = tokenizer.tokenize(text)
    assert "[UNK]" not in pieces
    assert max(map(len, pieces)) >= 4  # syllables, at least, have become one piece


def test_case_and_accents_follow_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Élan ÉLAN élan\n" * 3, encoding="utf-8")
    assert {"e", "##l", "elan"} <= set(train(path, vocab_size=30))
    cased = train(path, vocab_size=40, do_lower_case=False)
    assert {"É", "é", "élan", "Élan", "ÉLAN"} <= set(cased)


def test_rare_characters_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("aaaa bbb cc d\n", encoding="utf-8")
    tokens = train(path, vocab_size=30, max_characters=2, min_frequency=5)
    assert tokens == [*SPECIAL, "a", "b", "##a", "##b"]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"one two\nth\xffree\n")
    with pytest.raises(ValueError, match=r"text\.txt:2: not UTF-8"):
        train(path, vocab_size=30)
    assert "two" in train(
        path, vocab_size=30, min_frequency=1, text=TextConfig(encoding_errors="ignore")
    )


def test_a_vocabulary_that_is_too_small(small_text: Path) -> None:
    with pytest.raises(ValueError, match="vocab_size is 12, but the special tokens and the text's"):
        train(small_text, vocab_size=12)


def test_words_are_joined_in_parts(small_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = train(small_text, vocab_size=60)
    monkeypatch.setattr("bert_data.tokens.vocabulary_training.TEXT_CHARACTERS", 10)
    assert train(small_text, vocab_size=60) == expected


def test_pieces_are_made_of_the_most_frequent_words(tmp_path, caplog):
    path = tmp_path / "text.txt"
    path.write_text("ab ab ab cd cd cd ef ef gh\n", encoding="utf-8")
    tokens = train(path, vocab_size=40, max_words=2, min_frequency=1)
    assert tokens[-2:] == ["ab", "cd"]
    assert "##h" in tokens  # characters are those of all words
    assert (
        "the text has 4 different words; the 2 most frequent ones count, which occur 3 times or"
        " more"
    ) in caplog.text
    caplog.clear()
    assert train(path, vocab_size=40, max_words=4, min_frequency=1)[-1] == "gh"
    assert not caplog.text


def test_a_text_without_words(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n \n\t\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no words in"):
        train(path, vocab_size=30)


@pytest.mark.slow
@examples(30)
@given(
    lines=st.lists(st.text("aabbcdÉ中#. ", min_size=1, max_size=30), min_size=1, max_size=12),
    vocab_size=st.integers(30, 60),
    min_frequency=st.integers(1, 3),
    max_characters=st.integers(3, 9),
    do_lower_case=st.booleans(),
)
def test_equals_the_library(tmp_path_factory, lines, **options):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join([*lines, "abab baba"]) + "\n", encoding="utf-8")
    config = VocabularyTrainingConfig(input_files=(str(path),), work_dir=f"{path}.work", **options)
    by_library = train_vocabulary(config)
    with pytest.MonkeyPatch.context() as patch:  # as for texts that it would have to read for long
        patch.setattr(vocabulary_training, "MOST_CHARACTERS", 0)
        assert train_vocabulary(config) == by_library
