"""Vocabularies of texts; BPE and Unigram against the library on the lines."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import tokenization
from bert_data.text.text_config import TextConfig
from bert_data.tokens import vocabulary_training
from bert_data.tokens.hugging_face_files import (
    BERT_ROLES,
    to_json,
    tokenizer_config,
    tokenizer_json,
)
from bert_data.tokens.splitting import BPE, UNIGRAM, WORDPIECE, open_rules
from bert_data.tokens.tokenizer_file import load_tokenizer, vocabulary_of
from bert_data.tokens.vocabulary import SPECIAL
from bert_data.tokens.vocabulary_training import (
    VocabularyTrainingConfig,
    json_path_beside,
    train_vocabulary,
    write_vocabulary,
)

COVERS = ("tokens/hugging_face_files", "tokens/vocabulary_config")


def train(path: Path, **settings: object) -> list[str]:
    config = VocabularyTrainingConfig(
        input_files=(str(path),),
        work_dir=f"{path}.words",
        **settings,  # type: ignore[arg-type]
    )
    return list(train_vocabulary(config).tokens)


def test_the_tokenizer_knows_every_word_of_the_text(small_text: Path, tmp_path: Path) -> None:
    tokens = train(small_text, vocab_size=60)
    assert tuple(tokens[:5]) == SPECIAL
    assert len(tokens) == len(set(tokens)) == 60
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    tokenizer = tokenization.FullTokenizer(vocab_file=str(path))
    text = small_text.read_text(encoding="utf-8")
    pieces = tokenizer.tokenize(text)
    assert "[UNK]" not in pieces
    assert max(map(len, pieces)) >= 4  # syllables, at least, have become one piece


def test_case_and_accents_follow_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Élan ÉLAN élan\n" * 3, encoding="utf-8")
    assert {"e", "##l", "elan"} <= set(train(path, vocab_size=30))
    cased = train(path, vocab_size=40, do_lower_case=False)
    assert {"É", "é", "élan", "Élan", "ÉLAN"} <= set(cased)


def test_rare_characters_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("aaaa bbb cc d\n", encoding="utf-8")
    tokens = train(path, vocab_size=30, max_characters=2, min_frequency=5)
    assert tokens == [*SPECIAL, "a", "b", "##a", "##b"]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"one two\nth\xffree\n")
    with pytest.raises(ValueError, match=r"text\.txt:2: not UTF-8"):
        train(path, vocab_size=30)
    assert "two" in train(
        path, vocab_size=30, min_frequency=1, text=TextConfig(encoding_errors="ignore")
    )


def test_a_vocabulary_that_is_too_small(small_text: Path) -> None:
    with pytest.raises(ValueError, match="vocab_size is 12, but the special tokens and the text's"):
        train(small_text, vocab_size=12)


def test_pieces_are_made_of_the_most_frequent_words(tmp_path, caplog):
    path = tmp_path / "text.txt"
    path.write_text("ab ab ab cd cd cd ef ef gh\n", encoding="utf-8")
    tokens = train(path, vocab_size=40, max_words=2, min_frequency=1)
    assert tokens[-2:] == ["ab", "cd"]
    assert "##h" in tokens  # characters are those of all words
    assert (
        "the text has 4 different words; the 2 most frequent ones count, which occur 3 times or"
        " more"
    ) in caplog.text
    caplog.clear()
    assert train(path, vocab_size=40, max_words=4, min_frequency=1)[-1] == "gh"
    assert not caplog.text


def config_of(path: Path, model: str, **settings: object) -> VocabularyTrainingConfig:
    size = 300 if model == BPE else 60
    return VocabularyTrainingConfig(
        **{
            "input_files": (str(path),),
            "model": model,
            "vocab_size": size,
            "do_lower_case": False,
            "work_dir": f"{path}.work",
        }
        | settings  # type: ignore[arg-type]
    )


def trained_on_lines(path: Path, model: str, vocab_size: int) -> dict[str, Any]:
    """The model that the library trains when it reads the lines of a text."""
    normalizer, splitter = open_rules(model, do_lower_case=False)
    special = [*SPECIAL, "<|endoftext|>"]
    library: trainers.Trainer
    if model == BPE:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        library = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=special,
            initial_alphabet=alphabet,
        )
    else:
        library = trainers.UnigramTrainer(
            vocab_size=vocab_size, special_tokens=special, unk_token="[UNK]"
        )
    tokenizer = Tokenizer(models.BPE() if model == BPE else models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.train_from_iterator(path.read_text().splitlines(), library)
    return dict(json.loads(tokenizer.to_str())["model"])


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.process)])
def test_bpe_is_what_the_library_makes_of_the_lines(small_text, num_workers):
    config = config_of(small_text, BPE, vocab_size=420, num_workers=num_workers)
    definition = train_vocabulary(config).definition
    assert json.loads(definition)["model"] == trained_on_lines(small_text, BPE, 420)


@pytest.mark.process
def test_many_words_are_trained_on_in_another_process_in_parts(small_text, monkeypatch):
    config = config_of(small_text, UNIGRAM, vocab_size=420)
    expected = train_vocabulary(config).definition
    monkeypatch.setattr(vocabulary_training, "MOST_HERE", 0)
    monkeypatch.setattr(vocabulary_training, "TEXT_CHARACTERS", 10)
    assert train_vocabulary(config).definition == expected


def scores(model: dict[str, Any]) -> dict[str, float]:
    return dict(model["vocab"])


def test_unigram_has_the_pieces_that_the_library_makes_of_the_lines(small_text, monkeypatch):
    expected = scores(trained_on_lines(small_text, UNIGRAM, 90))
    definition = train_vocabulary(config_of(small_text, UNIGRAM, vocab_size=90)).definition
    assert scores(json.loads(definition)["model"]) == pytest.approx(expected, rel=0.01)
    num_characters = len(small_text.read_text())
    monkeypatch.setattr(vocabulary_training, "MOST_CHARACTERS", num_characters // 2)
    definition = train_vocabulary(config_of(small_text, UNIGRAM, vocab_size=90)).definition
    halved = scores(json.loads(definition)["model"])
    assert len(expected.keys() & halved.keys()) > 0.9 * len(expected)


def test_special_tokens_within_words_of_the_text_are_no_pieces(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    names = ["the", "cat", "dog", "house", "tree"]
    lines = (f"{a}[MASK]{b}<|endoftext|>{a}" for a in names for b in names)
    path.write_text("\n".join(lines) * 40)
    trained = train_vocabulary(config_of(path, UNIGRAM))
    pieces = [piece for piece, _ in json.loads(trained.definition)["model"]["vocab"]]
    assert pieces == list(trained.tokens)
    assert trained.tokens.index("<|endoftext|>") == 5
    library = Tokenizer.from_str(trained.definition)
    assert library.token_to_id("<|endoftext|>") == 5


@pytest.mark.process
def test_unigram_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Rare characters are dropped in training and get their scores afterwards."""
    path = tmp_path / "text.txt"
    rare = "".join(map(chr, range(0x430, 0x450)))
    common = " ".join(f"{a}{b}{c}" for a in "abcdef" for b in "aeiou" for c in "lmnst")
    path.write_text(f"{common}\n" * 5 + " ".join(f"{char}{char}x" for char in rare))
    program = (
        "import sys; from bert_data.tokens import vocabulary_training as training;"
        "print(training.train_vocabulary(training.VocabularyTrainingConfig("
        "input_files=(sys.argv[1],), model='unigram', vocab_size=120,"
        "work_dir=sys.argv[1] + '.work')).definition)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program, str(path)], check=True, capture_output=True
        ).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    vocab = json.loads(runs.pop())["model"]["vocab"]
    assert [piece for piece, _ in vocab if piece in rare] == sorted(rare)


@pytest.mark.parametrize("model", [BPE, UNIGRAM])
def test_a_trained_tokenizer(small_text: Path, tmp_path: Path, model: str) -> None:
    path = tmp_path / "tokenizer.json"
    trained = write_vocabulary(config_of(small_text, model), str(path), overwrite=False)
    assert {each.name for each in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
    assert trained.tokens[:6] == (*SPECIAL, "<|endoftext|>")
    assert trained.num_lines == len(small_text.read_text().splitlines())
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert (config["mask_token"], config["pad_token"]) == ("[MASK]", "[PAD]")
    library = Tokenizer.from_file(str(path))
    assert library.padding["pad_token"] == "[PAD]"
    pair = library.encode("one", "two")
    assert pair.tokens[0] == "[CLS]" and pair.tokens.count("[SEP]") == 2
    assert set(pair.type_ids) == {0, 1}
    tokenizer = load_tokenizer(None, str(path))
    assert tokenizer.backend.name == ("fastokens" if model == BPE else "tokenizers")
    vocabulary = vocabulary_of(tokenizer)
    special = (vocabulary.pad_id, vocabulary.unk_id, vocabulary.cls_id, vocabulary.sep_id)
    assert (*special, vocabulary.mask_id) == (0, 1, 2, 3, 4)
    assert vocabulary.continuation.any()
    line = small_text.read_text().splitlines()[0]
    assert library.decode(tokenizer.encode(line)).strip() == line.strip()


def test_bpe_is_the_same_in_every_run_and_follows_the_case(small_text: Path) -> None:
    first, again = (train_vocabulary(config_of(small_text, BPE)) for _ in range(2))
    assert first == again
    lower = train_vocabulary(config_of(small_text, BPE, do_lower_case=True))
    cased, uncased = (Tokenizer.from_str(each.definition) for each in (first, lower))
    assert uncased.encode("ABC").ids == uncased.encode("abc").ids
    assert cased.encode("A").ids != uncased.encode("A").ids


def test_what_cannot_be_trained(small_text: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="work_dir is empty; name a folder for the counts of word"):
        config_of(small_text, BPE, work_dir="")
    with pytest.raises(ValueError, match="vocab_size is 7, which the library cannot train: "):
        train_vocabulary(config_of(small_text, UNIGRAM, vocab_size=7))
    with pytest.raises(ValueError, match="vocab_size is 261, but the 6 special tokens and 256 byt"):
        train_vocabulary(config_of(small_text, BPE, vocab_size=261))
    trained = train_vocabulary(config_of(small_text, BPE, vocab_size=262))
    assert len(trained.tokens) == 262
    with pytest.raises(ValueError, match="min_frequency is 50, but unigram has no such bound"):
        config_of(small_text, UNIGRAM, min_frequency=50)
    with pytest.raises(ValueError, match=r"v.txt.gz' would not be gzip, as its ending says"):
        write_vocabulary(config_of(small_text, WORDPIECE), f"{tmp_path}/v.txt.gz", overwrite=False)
    (tmp_path / "blank.txt").write_text("\n \n")
    for model in (BPE, UNIGRAM, WORDPIECE):
        with pytest.raises(ValueError, match=r"no words in .*blank\.txt"):
            train_vocabulary(config_of(tmp_path / "blank.txt", model))


def test_where_the_tokenizer_json_goes() -> None:
    names = ["a/vocab.txt", "en.txt", "a/b.json", "tokenizer.json"]
    expected = ["a/tokenizer.json", "en.tokenizer.json", "a/b.json", "tokenizer.json"]
    assert list(map(json_path_beside, names)) == expected


TOKENS = ["zero", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "a", "b"]


def test_batches_are_padded_with_the_vocabularys_token() -> None:
    tokenizer = Tokenizer.from_str(tokenizer_json(TOKENS, do_lower_case=True))
    assert tokenizer.padding is not None and tokenizer.padding["pad_id"] == 5
    short, long = tokenizer.encode_batch(["A", "a b"])
    assert (short.ids, long.ids) == ([2, 6, 3, 5], [2, 6, 7, 3])
    assert short.attention_mask == [1, 1, 1, 0]


def test_special_tokens_have_their_roles() -> None:
    values = json.loads(to_json(tokenizer_config(do_lower_case=False, model_max_length=512)))
    assert {name: values[name] for name in BERT_ROLES} == BERT_ROLES
    assert (values["do_lower_case"], values["model_max_length"]) == (False, 512)
    assert "model_max_length" not in tokenizer_config(do_lower_case=True)
