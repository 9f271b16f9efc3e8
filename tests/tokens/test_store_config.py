"""Tokens that begin and end documents in a store, and documents of spaces alone."""

import dataclasses
import json

import pytest
import tokenizers

from bert_data.tokens.merging import merge_stores
from bert_data.tokens.store_making import StoreConfig, make_stores
from bert_data.tokens.verifying import verify_store
from tests.tokens.json_files import byte_pairs
from tests.tokens.store_contents import sequences_of


class TestEndOfDocuments:
    def test_a_token_of_the_usual_name_is_found(self, tmp_path, config):
        config = dataclasses.replace(config, vocab_file=None, append_eod=True)
        path = byte_pairs(tmp_path / "t.json", ("a", "</s>"))
        (store,) = make_stores(dataclasses.replace(config, tokenizer_file=path))
        assert store.notes.settings["eod_id"] == 1
        assert {sequence[-1] for (sequence,) in sequences_of(store.prefix)} == {1}
        path = byte_pairs(tmp_path / "t.json", ("<|endoftext|>", "</s>"))
        with pytest.raises(ValueError, match="several tokens may end documents: "):
            make_stores(dataclasses.replace(config, tokenizer_file=path))


class TestStartOfDocuments:
    def test_documents_begin_and_end_with_their_tokens(self, tmp_path, config):
        path = byte_pairs(tmp_path / "t.json", ("<s>", "</s>"))
        config = dataclasses.replace(config, vocab_file=None, tokenizer_file=path)
        (plain,) = make_stores(config)
        marked = dataclasses.replace(
            config, output_prefix=f"{config.output_prefix}2", prepend_bos=True, append_eod=True
        )
        (store,) = make_stores(marked)
        assert (store.notes.settings["bos_id"], store.notes.settings["eod_id"]) == (0, 1)
        assert "bos_id" not in plain.notes.settings
        expected = [[[0, *sequence, 1]] for (sequence,) in sequences_of(plain.prefix)]
        assert sequences_of(store.prefix) == expected
        assert verify_store(store.prefix).num_documents == len(expected)
        for change in ({"prepend_bos": False}, {"prepend_bos": True}):
            other = dataclasses.replace(marked, append_eod=False, **change)
            with pytest.raises(FileExistsError, match=r"made with (bos_id 0, not None|eod_id)"):
                make_stores(other)
        with pytest.raises(ValueError, match="different kinds: end of documents"):
            merge_stores([plain.prefix, store.prefix], str(tmp_path / "merged"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"append_eod": True, "eod_token": "<x>"}, "`eod_token=<x>` is not among the "),
        ({"eod_token": "ba"}, "`eod_token=ba` needs `append_eod`"),
        ({"prepend_bos": True, "bos_token": "<x>"}, "`bos_token=<x>` is not among the "),
        ({"bos_token": "ba"}, "`bos_token=ba` needs `prepend_bos`"),
        ({"append_eod": True}, "`append_eod`: the vocabulary has no usual end-of-document token; "),
        ({"prepend_bos": True}, "`prepend_bos`: the vocabulary has no usual start-of-document"),
    ],
)
def test_mistakes(config, changes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make_stores(dataclasses.replace(config, **changes))


@pytest.mark.parametrize("append_eod", [False, True])
@pytest.mark.parametrize("rules", ["curator", "megatron"])
def test_documents_are_what_the_tokenizer_makes_of_them(tmp_path, append_eod, rules):
    """Megatron-LM and NeMo Curator tokenize spaces, too."""
    texts = ["the cat\nsat  on", " ", "", "\n \t\n", "\u3000", "a dog\r\n"]
    path = byte_pairs(tmp_path / "t.json", ("</s>",))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    (store,) = make_stores(
        StoreConfig(
            input_file=str(tmp_path / "a.jsonl"),
            output_prefix=str(tmp_path / "s"),
            tokenizer_file=path,
            append_eod=append_eod,
            store_rules=rules,
        )
    )
    tokenizer = tokenizers.Tokenizer.from_file(path)
    end = [0] if append_eod else []
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    assert [bool(each) for each in ids] == [bool(text) for text in texts]
    empty = [end] if rules == "curator" else []
    assert sequences_of(store.prefix) == [[each + end] if each else empty for each in ids]
