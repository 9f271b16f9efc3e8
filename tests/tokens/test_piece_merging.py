"""Pieces made from counts equal those that the tokenizers library makes from the text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.text.documents import TextConfig
from bert_data.tokens.piece_merging import merge_pieces
from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.vocabulary_training import (
    VocabularyTrainingConfig,
    train_vocabulary,
)
from bert_data.tokens.word_counts import TextCounts, count_text
from bert_data.work import THIS_MACHINE


def merged(text: TextCounts, config: VocabularyTrainingConfig) -> list[str]:
    """The vocabulary that a cluster's run makes of counts."""
    ranked = sorted(text.characters, key=lambda c: (-text.characters[c], c))
    kept = ranked[: config.max_characters]
    continuing = text.continuing & set(kept)
    pieces, _ = merge_pieces(
        text.words,
        fixed=[*SPECIAL, *sorted(kept), *(f"##{c}" for c in sorted(continuing))],
        characters=kept,
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
    )
    return pieces


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
        work_dir=str(folder / "work"),
    )
    text = count_text(
        [str(path)],
        TextConfig(),
        do_lower_case=do_lower_case,
        max_words=1000,
        engine=THIS_MACHINE,
        num_workers=1,
        work_dir=str(folder / "work"),
    )
    trained = train_vocabulary(config)
    assert merged(text, config) == list(trained.tokens)
    assert (text.num_lines, len(text.characters)) == (trained.num_lines, trained.num_characters)
