"""Special tokens by role: named by the user, said by the file, or usual."""

import json

import pytest
from tokenizers import Tokenizer, models, processors

from bert_data.tokens.tokenizer_file import load_tokenizer, vocabulary_of
from bert_data.tokens.tokenizer_json import find_special_tokens, parse_special_tokens
from tests.tokens.json_files import byte_pairs

IDS = {
    t: i for i, t in enumerate(["<s>", "<pad>", "</s>", "<unk>", "[CLS]", "<mask>", "begin", "end"])
}


def definition_of(processor):
    tokenizer = Tokenizer(models.WordLevel(IDS, unk_token="<unk>"))
    tokenizer.post_processor = processor
    return json.loads(tokenizer.to_str())


@pytest.mark.parametrize(
    ("processor", "cls", "sep"),
    [
        (processors.RobertaProcessing(("</s>", 2), ("<s>", 0)), "<s>", "</s>"),
        (processors.BertProcessing(("end", 7), ("begin", 6)), "begin", "end"),
        (
            processors.TemplateProcessing(
                single="begin $A end", pair=None, special_tokens=[("begin", 6), ("end", 7)]
            ),
            "begin",
            "end",
        ),
        (
            processors.Sequence(
                [
                    processors.ByteLevel(),
                    processors.TemplateProcessing(single="$A end", special_tokens=[("end", 7)]),
                ]
            ),
            "[CLS]",
            "end",
        ),
    ],
)
def test_what_the_file_says_and_what_is_usual(processor, cls, sep):
    found = find_special_tokens(definition_of(processor), IDS, unk_token="<unk>")
    assert found == {"cls": cls, "sep": sep, "mask": "<mask>", "pad": "<pad>", "unk": "<unk>"}


def test_what_the_user_names_counts_first(tmp_path):
    definition = definition_of(processors.RobertaProcessing(("</s>", 2), ("<s>", 0)))
    found = find_special_tokens(definition, IDS, named={"cls": "begin", "mask": "end"})
    assert (found["cls"], found["sep"], found["mask"]) == ("begin", "</s>", "end")
    path = byte_pairs(tmp_path / "t.json")
    with pytest.raises(ValueError, match=r"t\.json has no token '<m>', which `special"):
        load_tokenizer(None, path, special_tokens={"mask": "<m>"})


def test_an_unknown_token_that_is_missing():
    assert "unk" not in find_special_tokens({}, {"a": 0}, unk_token="<unk>")


def test_a_file_without_roles(tmp_path):
    path = byte_pairs(tmp_path / "t.json")
    with pytest.raises(ValueError, match="`special_tokens=cls=TOKEN,sep=TOKEN,mask=TOKEN"):
        vocabulary_of(load_tokenizer(None, path))
    named = dict.fromkeys(["cls", "sep", "mask"], "<|endoftext|>")
    vocabulary = vocabulary_of(load_tokenizer(None, path, special_tokens=named))
    assert (vocabulary.cls_id, vocabulary.mask_id) == (0, 0)
    assert (vocabulary.unk_id, vocabulary.pad_id) == (-1, 0)


@pytest.mark.parametrize("entries", [["mask"], ["mask="], ["end=x"], ["cls=a", "cls=b"], [""]])
def test_mistaken_flags(entries):
    with pytest.raises(ValueError, match="takes ROLE=TOKEN, such as mask=<mask>, once for"):
        parse_special_tokens(entries)
    assert parse_special_tokens(["mask=a=b", "cls=c"]) == {"mask": "a=b", "cls": "c"}
