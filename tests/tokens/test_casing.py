"""The default of do_lower_case is refused where something says that text keeps its case."""

import json
import logging
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokenization
from bert_data.tokens.casing import decide_case
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_tokenizer, load_wordpiece, read_vocabulary
from bert_data.tokens.vocabulary import load_vocabulary
from tests.tokens.odd_texts import SPECIAL, make_vocabulary

LOWER = ("the", "##s", "ß", "東", ".", "<", "<S>", "[E1]", "A.B", "[unused0]", "##", "σ", "##ς", "")


def write(folder: Path, *tokens: str, name: str = "vocab.txt") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{t}\n" for t in (*SPECIAL, *tokens)), encoding="utf-8")
    return str(folder / name)


def say(folder: Path, lower: object, name: str = "tokenizer_config.json") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps({"do_lower_case": lower}))


def lower_case_of(path: str, **settings: object) -> bool:
    tokenizer = load_tokenizer(path, **settings)
    assert tokenizer.do_lower_case is not None
    return tokenizer.do_lower_case


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4))
def test_cased_tokens_are_those_that_only_cased_text_has(letters: str) -> None:
    text = {lower: tokenization.BasicTokenizer(lower).tokenize(letters) for lower in (True, False)}
    is_cased = text[False] == [letters] != text[True]
    for token in (letters, f"##{letters}"):
        vocabulary = make_vocabulary(["the", token])
        assert vocabulary.cased_tokens == ([token] if is_cased and token != "##" else [])


@pytest.mark.parametrize("token", ["A", "##É", "Paris", "naïve", "각", "が", "ά", "Σ"])
def test_a_cased_vocabulary_is_refused_unless_the_caller_decides(
    tmp_path: Path, token: str
) -> None:
    path = write(tmp_path, *LOWER, unicodedata.normalize("NFC", token))
    sentence = f"1 of the {len(LOWER) + 6} tokens of {path}, such as {token}, cannot occur in .*: "
    sentence += "set `do_lower_case=False` to .*, or `do_lower_case=True` to .* nevertheless"
    for load in (load_tokenizer, lambda path: FastTokenizer(load_vocabulary(path))):
        with pytest.raises(ValueError, match=sentence):
            load(path)
    for lower in (True, False):
        assert lower_case_of(path, do_lower_case=lower) is lower


def test_an_uncased_vocabulary_is_lower_cased(tmp_path: Path, shared: Path) -> None:
    assert lower_case_of(write(tmp_path, *LOWER))
    for name in ("uncased", "chinese"):
        vocabulary = load_vocabulary(shared / f"data/vocab/bert-base-{name}.txt")
        assert vocabulary.cased_tokens == []
        assert decide_case(vocabulary, None)


def test_a_few_words_of_a_user_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = [f"w{'abcdefghij'[n % 10] * (n // 10 + 1)}" for n in range(994)]
    for cased in (["COVID"], ["COVID", "URL"]):
        path = write(tmp_path, *words, *cased)
        if len(cased) == 1:
            with caplog.at_level(logging.WARNING, logger="absl"):
                assert lower_case_of(path)
            assert f"1 of the 1,000 tokens of {path}, such as COVID, cannot occur" in caplog.text
        else:
            with pytest.raises(ValueError, match=r"2 of the 1,001 tokens .*, such as COVID, URL"):
                lower_case_of(path)


def test_the_configuration_beside_a_vocabulary_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, *LOWER)
    other = write(tmp_path, *LOWER, name="other.txt")
    for says in (True, None, "no"):
        say(tmp_path, says)
        assert lower_case_of(path)
    say(tmp_path, False)
    sentence = f"{tmp_path}/tokenizer_config.json says that text keeps its case, though .* uncased"
    for each in (path, other):
        with pytest.raises(ValueError, match=f"{sentence}: set `do_lower_case=False` to "):
            load_tokenizer(each)
    assert lower_case_of(path, do_lower_case=True)
    assert not lower_case_of(path, do_lower_case=False)
    say(tmp_path, True, "other.tokenizer_config.json")
    assert lower_case_of(other)
    say(tmp_path, False, "other.tokenizer_config.json")
    with pytest.raises(ValueError, match=r"/other.tokenizer_config.json says that text keeps its"):
        load_tokenizer(other)


def test_a_released_model_is_known_by_its_name(tmp_path: Path) -> None:
    cased, path = tmp_path / "cased_L-12_H-768_A-12", write(tmp_path, *LOWER)
    sentence = "cased_L-12_H-768_A-12 is the name of a cased model: set"
    with pytest.raises(ValueError, match=sentence):
        load_tokenizer(write(cased, *LOWER))
    assert lower_case_of(write(tmp_path / "uncased_L-12_H-768_A-12", *LOWER))
    for files in (["uncased_L-12_H-768_A-12/bert_model.ckpt"], ["model", "cased/bert_model.ckpt"]):
        assert lower_case_of(path, model_files=files)
    names = ("gs://b/cased_L-12_H-768_A-12/bert_model.ckpt", f"{cased}", f"{cased}/")
    for files in ([name] for name in (*names, f"{cased}/bert_config.json")):
        with pytest.raises(ValueError, match=sentence):
            load_tokenizer(path, model_files=files)
        assert lower_case_of(path, model_files=files, do_lower_case=True)
    say(tmp_path / "hf", False)
    with pytest.raises(ValueError, match=r"/hf/tokenizer_config.json says that text keeps its"):
        load_tokenizer(path, model_files=[f"{tmp_path}/hf"])


def test_a_tokenizer_file_says_it_itself(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    say(tmp_path, False)
    for lower in (True, False):
        file.write_text(tokenizer_json([*SPECIAL, "The"], do_lower_case=lower))
        for each in (load_tokenizer(None, str(file)), FastTokenizer(read_vocabulary(str(file)))):
            assert each.do_lower_case is lower
        with pytest.raises(ValueError, match=r"`do_lower_case` needs `vocab_file`; .*/t.json"):
            load_tokenizer(None, str(file), do_lower_case=lower)
    with pytest.raises(ValueError, match="is an uncased model"):
        load_wordpiece(
            None,
            str(file),
            do_lower_case=None,
            reason="",
            model_files=["uncased_L-12_H-768_A-12/bert_model.ckpt"],
        )
