"""Which released checkpoints were trained on lower-cased text, by the names of their folders."""

import re

_UNCASED_MODELS = frozenset(
    {
        "uncased_L-12_H-768_A-12",
        "uncased_L-24_H-1024_A-16",
        "multilingual_L-12_H-768_A-12",
        "chinese_L-12_H-768_A-12",
    }
)
_CASED_MODELS = frozenset(
    {"cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12"}
)


def validate_case_matches_checkpoint(do_lower_case: bool, init_checkpoint: str | None) -> None:
    """Check that the casing fits a released model, which is recognized by its path.

    Args:
      do_lower_case: whether the tokenizer will lower-case its input.
      init_checkpoint: a path such as ".../uncased_L-12_H-768_A-12/bert_model.ckpt". Empty, None and
        any other path pass: a checkpoint does not record how its text was cased.

    Raises:
      ValueError: the model is known to have been trained with the other casing.
    """
    match = re.search(r"([A-Za-z0-9_-]+)/bert_model\.ckpt", init_checkpoint or "")
    if not match:
        return
    model = match[1]
    expected = model in _UNCASED_MODELS
    if (expected or model in _CASED_MODELS) and expected != bool(do_lower_case):
        raise ValueError(
            f"`do_lower_case={bool(do_lower_case)}` does not fit `init_checkpoint`="
            f"{init_checkpoint}: {model} is {'an uncased' if expected else 'a cased'} model, "
            f"so pass `do_lower_case={expected}` to tokenize as it was trained"
        )
