"""The files for Hugging Face's libraries say how to pad, and which tokens are special."""

import json

from tokenizers import Tokenizer

from bert_data.tokens.hugging_face import ROLES, to_json, tokenizer_config, tokenizer_json

TOKENS = ["zero", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "a", "b"]


def test_batches_are_padded_with_the_vocabularys_token() -> None:
    tokenizer = Tokenizer.from_str(tokenizer_json(TOKENS, do_lower_case=True))
    assert tokenizer.padding is not None and tokenizer.padding["pad_id"] == 5
    short, long = tokenizer.encode_batch(["A", "a b"])
    assert (short.ids, long.ids) == ([2, 6, 3, 5], [2, 6, 7, 3])
    assert short.attention_mask == [1, 1, 1, 0]


def test_special_tokens_have_their_roles() -> None:
    values = json.loads(to_json(tokenizer_config(do_lower_case=False, model_max_length=512)))
    assert {name: values[name] for name in ROLES} == ROLES
    assert (values["do_lower_case"], values["model_max_length"]) == (False, 512)
    assert "model_max_length" not in tokenizer_config(do_lower_case=True)
