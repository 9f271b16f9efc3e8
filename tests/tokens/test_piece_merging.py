"""Pieces made from counts equal those that the tokenizers library makes from the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import vocabulary_training
from bert_data.tokens.vocabulary_training import VocabularyTrainingConfig, train_vocabulary
from tests.hypotheses import examples


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
