"""The casing of released checkpoints."""

import pytest

from bert_data.tokens.casing import validate_case_matches_checkpoint


def test_casing_is_compared_with_the_released_models_name() -> None:
    check = validate_case_matches_checkpoint
    check(True, None)
    check(False, "")
    check(False, "/models/my_uncased/bert_model.ckpt")
    check(False, "uncased_L-12_H-768_A-12")
    check(True, "gs://b/uncased_L-12_H-768_A-12/bert_model.ckpt")
    check(False, "/models/multi_cased_L-12_H-768_A-12/bert_model.ckpt")
    with pytest.raises(ValueError, match="--do_lower_case=True"):
        check(False, "/models/chinese_L-12_H-768_A-12/bert_model.ckpt")
    with pytest.raises(ValueError, match="--do_lower_case=False"):
        check(True, "/models/cased_L-24_H-1024_A-16/bert_model.ckpt")
