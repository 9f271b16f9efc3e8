"""Words counted by tasks: as counted plainly, for any parts, portions and workers."""

import collections
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.text.text_config import TextConfig
from bert_data.tokens import splitting, word_counts
from bert_data.tokens.definition import BasicTokenizer
from bert_data.tokens.splitting import BPE, UNIGRAM
from bert_data.tokens.vocabulary_config import VocabularyTrainingConfig
from bert_data.tokens.word_counts import TextCounts, count_words
from bert_data.work import rounds
from tests.hypotheses import examples


def count(path: Path, *others: Path, max_words: int = 1 << 29, **settings) -> TextCounts:
    return count_words(
        VocabularyTrainingConfig(
            input_files=(str(path), *map(str, others)),
            vocab_size=100,
            max_words=max_words,
            work_dir=f"{path}.work",
            **settings,
        )
    )


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_counts, "PART_BYTES", 100)
    monkeypatch.setattr(word_counts, "MAX_BYTES", 30)
    monkeypatch.setattr(word_counts, "TASK_BYTES", 1)
    monkeypatch.setattr(rounds, "MIN_BYTES", 1200)  # of all portions: two records each
    monkeypatch.setattr(rounds, "LEAST_READ_BYTES", 1)
    monkeypatch.setattr(rounds, "LEAST_READ_RECORDS", 1)


words = st.text("aäÉ中b", min_size=1, max_size=3) | st.sampled_from(
    ["the", "x" * 100, "x" * 99, "unbelievable,", "don't", "\U0001f600", "of"]
)


@pytest.mark.slow
@examples(20)
@given(st.lists(st.lists(words, min_size=1, max_size=9), min_size=1, max_size=20), st.data())
def test_equals_plain_counting(tmp_path_factory, lines, data):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    tokenizer = BasicTokenizer(do_lower_case=True)
    expected = collections.Counter(
        word for line in lines for word in tokenizer.tokenize(" ".join(line))
    )
    counts = count(path)
    assert counts.words == expected
    assert list(counts.words.values()) == sorted(expected.values(), reverse=True)
    assert counts.characters == collections.Counter(
        character for word in expected.elements() for character in word
    )
    assert counts.continuing == {character for word in expected for character in word[1:]}
    assert (counts.num_lines, counts.num_words) == (len(lines), len(expected))
    max_words = data.draw(st.integers(1, len(expected)))
    assert [*count(path, max_words=max_words).words.items()] == [*counts.words.items()][:max_words]


@pytest.mark.slow
def test_small_portions_change_nothing(small_text, tmp_path, request):
    path = tmp_path / "text.txt"
    long_word = "y" * 500  # in more pieces than a portion has records
    path.write_text(f"{long_word} {small_text.read_text()[:3000]}\n{long_word}\n")
    whole = count(path)
    request.getfixturevalue("small_portions")
    in_portions = count(path)
    assert in_portions == whole
    assert [*in_portions.words] == [*whole.words]
    assert whole.words[long_word] == 2
    assert not Path(f"{path}.work").exists()


@pytest.mark.process
def test_workers_change_nothing_and_finished_parts_are_found(
    small_text, tmp_path, monkeypatch, caplog
):
    path = tmp_path / "text.txt"
    path.write_bytes(small_text.read_bytes())
    whole = count(path)
    monkeypatch.setattr(word_counts, "PART_BYTES", 2000)
    monkeypatch.setattr(rounds, "MIN_TASK_BYTES", 2000)

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(word_counts, "read_most_frequent", fail)
        with pytest.raises(OSError, match="the disk is full"):
            count(path)
    caplog.clear()
    caplog.set_level("INFO", logger="absl")
    assert count(path, num_workers=2) == whole
    (done,) = re.findall(r"(\d+) of (\d+) were done by an earlier run", caplog.text)[:1]
    assert done[0] == done[1] and int(done[0]) > 3
    assert not Path(f"{path}.work").exists()


def test_rows_without_a_text_are_counted(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ({"text": "a b"}, {"x": 1})))
    counts = count(path, text=TextConfig(on_error="skip"))
    assert (counts.num_lines, counts.num_skipped, counts.words) == (1, 1, {"a": 1, "b": 1})


def test_files_without_a_text_are_named(tmp_path, caplog):
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path, text in zip(paths, ("a b\n", "", " \n\n"), strict=True):
        path.write_text(text)
    count(*paths)
    assert f"2 of 3 files gave no document: {paths[1]}, {paths[2]}" in caplog.text


def test_text_that_was_not_meant_is_noticed(tmp_path, caplog):
    (tmp_path / "a.txt").write_text('{"text": "a b"}\n' * 3 + "no JSON\n")
    count(tmp_path / "a.txt")
    assert "3 of the first 4 lines look like JSON" in caplog.text


def test_long_words_are_cut_and_counted(tmp_path, caplog):
    path = tmp_path / "a.txt"
    sentence = "川" * 300 + "。"
    path.write_text(f"{sentence * 2}{'山' * 1200}\n{'b' * 500} {sentence * 2}\n")
    text = count(path, model=UNIGRAM)
    assert dict(text.words) == {
        f"▁{sentence}": 2, sentence: 2, "山" * 500: 2, "山" * 200: 1, f"▁{'b' * 499}": 1, "b": 1,
    }  # fmt: skip
    assert "words of more than 500 characters were cut, first at the ends of sentences: 3" in (
        caplog.text
    )


def test_the_library_gets_long_texts_in_parts(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text(f"{'äb' * 30} か  か abc か {'か' * 20} か\n")
    whole = count(path, model=BPE)
    monkeypatch.setattr(splitting, "LIBRARY_CHARACTERS", 24)
    in_parts = count(path, model=BPE)
    words = whole.words.items()
    assert words - in_parts.words.items() == {("Ã¤b" * 30, 1)}
    assert in_parts.words.items() - words == {("Ã¤b" * 12, 2), ("Ã¤b" * 6, 1)}
