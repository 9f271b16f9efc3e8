"""Pieces made from counts equal those that the tokenizers library makes from the text."""

import collections
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.text.documents import TextConfig
from bert_data.tokens import word_counts
from bert_data.tokens.piece_merging import merge_pieces
from bert_data.tokens.vocabulary_training import (
    SPECIAL_TOKENS,
    VocabularyTrainingConfig,
    train_vocabulary,
)
from bert_data.work import THIS_MACHINE

COVERS = ("tokens/word_counts",)


def merged(text: word_counts.TextCounts, config: VocabularyTrainingConfig) -> list[str]:
    """The vocabulary that a cluster's run makes of counts."""
    ranked = sorted(text.characters, key=lambda c: (-text.characters[c], c))
    kept = ranked[: config.max_characters]
    continuing = {c for word in text.words for c in word[1:]} & set(kept)
    return merge_pieces(
        text.words,
        fixed=[*SPECIAL_TOKENS, *sorted(kept), *(f"##{c}" for c in sorted(continuing))],
        characters=kept,
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
    )


def counts_of(path: Path, folder: Path, **options: bool) -> word_counts.TextCounts:
    return word_counts.count_on_cluster(
        [str(path)],
        TextConfig(),
        do_lower_case=options.get("do_lower_case", True),
        engine=THIS_MACHINE,
        work_dir=str(folder / "work"),
    )


@settings(max_examples=80)
@given(
    lines=st.lists(st.text("aabbcdÉ中#. ", min_size=1, max_size=30), min_size=1, max_size=12),
    vocab_size=st.integers(30, 60),
    min_frequency=st.integers(1, 3),
    max_characters=st.integers(3, 9),
    do_lower_case=st.booleans(),
)
def test_equals_the_library(
    tmp_path_factory, lines, vocab_size, min_frequency, max_characters, do_lower_case
):
    folder = tmp_path_factory.mktemp("text")
    path = folder / "text.txt"
    path.write_text("\n".join([*lines, "abab baba"]) + "\n", encoding="utf-8")
    config = VocabularyTrainingConfig(
        input_files=(str(path),),
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        max_characters=max_characters,
        do_lower_case=do_lower_case,
    )
    text = counts_of(path, folder, do_lower_case=do_lower_case)
    trained = train_vocabulary(config)
    assert merged(text, config) == list(trained.tokens)
    assert (text.num_lines, len(text.characters)) == (trained.num_lines, trained.num_characters)


@pytest.mark.process
def test_counts_do_not_depend_on_the_parts(small_text, tmp_path, monkeypatch):
    whole = counts_of(small_text, tmp_path)
    words = collections.Counter(small_text.read_text(encoding="utf-8").lower().split())
    assert whole.words["zzz"] == words["zzz"] + words["zzz."]
    monkeypatch.setattr(word_counts, "_PART_BYTES", 2000)
    assert counts_of(small_text, tmp_path) == whole
    assert not (tmp_path / "work").exists()
