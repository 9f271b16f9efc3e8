"""A tokenizer.json gets the right tokenizer, and has the library's ids there."""

import hashlib
import json
import logging
import pickle
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bert_data.tokens.bert_rules import google_rules
from bert_data.tokens.library_tokenizer import LibraryTokenizer
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import (
    load_tokenizer,
    read_tokenizer,
    read_vocabulary,
    vocabulary_of,
)
from bert_data.tokens.tokenizer_json import vocabulary_sha256
from tests.hypotheses import examples
from tests.tokens.json_files import byte_pairs, sentencepiece_model, unigram, wordpiece
from tests.tokens.odd_texts import EVERY_LETTER, SPECIAL, code_points, texts

COVERS = ("tokens/library_tokenizer", "tokens/tokenizer_config")


RULES = ("lstrip", "rstrip", "single_word", "normalized")


def added(content, number, **flags):
    return {"id": number, "content": content, "special": True} | dict.fromkeys(RULES, False) | flags


TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "a", "##a", ".", "é"]


def test_berts_rules_go_to_the_fast_tokenizer(tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="absl"):
        tokenizer = load_tokenizer(None, wordpiece(tmp_path / "t.json", TOKENS))
    assert isinstance(tokenizer, FastTokenizer) and tokenizer.do_lower_case
    assert "WordPiece with BERT's rules; using the fast tokenizer" in caplog.text
    assert tokenizer.max_word_letters == 100
    assert tokenizer.encode("The cats.") == [5, 6, 7, 10]
    cased = wordpiece(tmp_path / "c.json", TOKENS, normalizer__lowercase=False)
    assert load_tokenizer(None, cased).do_lower_case is False


@pytest.mark.parametrize("num_letters", [99, 100, 101, 200])
def test_words_too_long_are_unknown_as_in_the_library(tmp_path, num_letters):
    path = wordpiece(tmp_path / "t.json", TOKENS)
    word = "a" * num_letters
    expected = Tokenizer.from_file(path).encode(word, add_special_tokens=False).ids
    tokenizer = load_tokenizer(None, path)
    assert isinstance(tokenizer, FastTokenizer)
    rules = google_rules(tokenizer.vocabulary, True, tokenizer.max_word_letters)
    assert tokenizer.encode(word) == expected == rules.encode(word)


@pytest.fixture(scope="module", params=[True, False], ids=["lower", "cased"])
def both(request, tmp_path_factory):
    """(our tokenizer, the library's)"""
    path = tmp_path_factory.mktemp("bert") / "t.json"
    wordpiece(path, EVERY_LETTER.tokens, normalizer__lowercase=request.param)
    tokenizer = load_tokenizer(None, str(path))
    assert isinstance(tokenizer, FastTokenizer)
    return pickle.loads(pickle.dumps(tokenizer)), Tokenizer.from_file(str(path))


class TestIdsOfTheLibrary:
    """A tokenizer.json with BERT's rules runs in our kernels, with the ids of `tokenizers`."""

    @pytest.mark.slow
    @examples(200)
    @given(st.lists(texts | st.sampled_from([*SPECIAL, "[", "]", "[SEP", "##"]), max_size=5))
    @example(["a [SEP] b"])
    @example(["x[MASK]y[[CLS]]", "[sep] [ SEP] [SEP\xad]"])
    @example(["ΑΣ ΣΑΣ Σ'ς", "\ue000a", "\u0378", "\u200b[PAD]"])
    @example(["a\U0001d165\u0301\u302ea \u302e\U0001d165", "\U00016ff0\u302e\U0001d16d"])
    def test_any_text(self, both, parts):
        for text in ("".join(parts), " ".join(parts)):
            expected = both[1].encode(text, add_special_tokens=False).ids
            assert both[0].encode(text) == expected
            lines = text.replace("\r", "").replace("\n", " ")
            expected = both[1].encode(lines, add_special_tokens=False).ids
            assert both[0].tokenize_block(lines.encode()).ids.tolist() == expected

    @pytest.mark.slow
    def test_each_code_point(self, both):
        points = code_points(100 if both[0].do_lower_case else 500)
        for first in range(0, len(points), 500):
            text = " ".join(f"a{point}b {point}" for point in points[first : first + 500])
            text = text.replace("\n", " ").replace("\r", " ")
            expected = both[1].encode(text, add_special_tokens=False).ids
            assert both[0].tokenize_block(text.encode()).ids.tolist() == expected

    def test_googles_stay_for_a_vocabulary(self, both):
        google = FastTokenizer(EVERY_LETTER, both[0].do_lower_case)
        assert google.encode("a [SEP] b") != both[0].encode("a [SEP] b")
        assert both[0].encode("a\ud800b") == both[0].encode("ab")


@pytest.mark.parametrize(
    "changes",
    [
        {"model__continuing_subword_prefix": "@@"},
        {"model__unk_token": "a"},
        {"normalizer": None},
        {"normalizer": {"type": "Lowercase"}},
        {"normalizer__clean_text": False},
        {"normalizer__handle_chinese_chars": False},
        {"normalizer__strip_accents": False},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": None},
        *({"added_tokens": [added("[MASK]", 4, **{rule: True})]} for rule in RULES),
        {"model__vocab": {token: 2 * number for number, token in enumerate(TOKENS)},
         "added_tokens": []},
        {"model__vocab": {"[UNK]": 0, "a": 1}, "added_tokens": []},
    ],
    ids=str,
)  # fmt: skip
def test_other_rules_go_to_the_library(tmp_path, changes, caplog):
    path = wordpiece(tmp_path / "t.json", TOKENS, **changes)
    with caplog.at_level(logging.INFO, logger="absl"):
        tokenizer = load_tokenizer(None, path)
    assert isinstance(tokenizer, LibraryTokenizer)
    assert "tokenizers 0." in caplog.text and "runs it (fastokens is not known" in caplog.text
    texts = ["The cats a.", "", "é É東"]
    block = tokenizer.tokenize_sequences(texts, [1, 2, 3])
    library = Tokenizer.from_file(path)
    expected = [library.encode(text, add_special_tokens=False).ids for text in texts]
    assert block.ids.tolist() == sum(expected, [])  # noqa: RUF017
    assert block.sentence_lengths.tolist() == [len(ids) for ids in expected if ids]
    assert block.num_unknown == block.ids.tolist().count(tokenizer.unk_id)


def test_an_added_token_goes_to_the_library(tmp_path):
    path = wordpiece(tmp_path / "t.json", TOKENS)
    tokenizer = Tokenizer.from_file(path)
    tokenizer.add_tokens(["new"])
    tokenizer.save(path)
    loaded = load_tokenizer(None, path)
    assert isinstance(loaded, LibraryTokenizer)
    assert (loaded.num_ids, loaded.id_limit) == (len(TOKENS) + 1, len(TOKENS) + 1)


def test_bpe_and_unigram(tmp_path):
    tokenizer = load_tokenizer(None, byte_pairs(tmp_path / "b.json"))
    assert isinstance(tokenizer, LibraryTokenizer)
    assert (tokenizer.unk_id, tokenizer.num_ids) == (-1, len(tokenizer.ids))
    block = tokenizer.tokenize_sequences(["the\ncat", "", "the dog"], [0, 2, 3])
    assert block.breaks.tolist() == [0, 1, 2]
    tokenizer = load_tokenizer(None, unigram(tmp_path / "u.json"))
    assert isinstance(tokenizer, LibraryTokenizer)
    block = tokenizer.tokenize_sequences(["cat", "xyz"], [2])
    assert (tokenizer.unk_id, block.num_unknown > 0) == (0, True)


def test_truncation_and_special_tokens_of_the_file_are_not_applied(tmp_path):
    path = byte_pairs(tmp_path / "b.json")
    library = Tokenizer.from_file(path)
    expected = library.encode("the cat sat on the mat", add_special_tokens=False).ids
    library.enable_truncation(2)
    library.enable_padding(length=50)
    library.save(path)
    tokenizer = load_tokenizer(None, path)
    assert isinstance(tokenizer, LibraryTokenizer)
    block = tokenizer.tokenize_sequences(["the cat sat on the mat"], [1])
    assert block.ids.tolist() == expected


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model_file(request, tmp_path_factory):
    return sentencepiece_model(tmp_path_factory.mktemp("model") / "m.model", request.param)


class TestModelOfSentencePiece:
    def test_ids(self, model_file):
        import sentencepiece

        tokenizer = load_tokenizer(None, model_file)
        assert isinstance(tokenizer, LibraryTokenizer)
        assert tokenizer.backend.name == "sentencepiece"
        library = sentencepiece.SentencePieceProcessor(model_file=model_file)
        texts = ["the cat sat", "", "\n", "é the  dog\ta", "</s> <unk>"]
        block = tokenizer.tokenize_sequences(texts, [2, 5])
        expected = [library.EncodeAsIds(text) for text in texts]
        assert block.ids.tolist() == [number for ids in expected for number in ids]
        assert block.sentence_lengths.tolist() == [len(ids) for ids in expected if ids]
        assert tokenizer.unk_id == library.unk_id()
        assert block.num_unknown == block.ids.tolist().count(library.unk_id()) > 0
        assert list(tokenizer.ids) == [library.IdToPiece(i) for i in range(19)]
        again = pickle.loads(pickle.dumps(tokenizer))
        assert again.encode("the cat") == tokenizer.encode("the cat")

    def test_other_backends(self, model_file):
        with pytest.raises(ValueError, match=r"fastokens` cannot run .*m\.model: it is a \.model"):
            load_tokenizer(None, model_file, backend="fastokens")

    def test_without_the_extra(self, model_file, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        with pytest.raises(ValueError, match=r"m\.model needs the package .*'\.\[bpe\]'"):
            load_tokenizer(None, model_file)

    @pytest.mark.parametrize("content", [b"", b"\n\xff\xff", b"not a model", b"\0" * 99])
    def test_damage(self, tmp_path, content):
        (tmp_path / "d.model").write_bytes(content)
        with pytest.raises(ValueError, match=r"d\.model is not a SentencePiece model: "):
            load_tokenizer(None, str(tmp_path / "d.model"))


@pytest.mark.parametrize(
    ("files", "backend", "reason"),
    [
        (["v.txt"], "fastokens", "`tokenizer_backend=fastokens` needs `tokenizer_file`"),
        (["v.txt"], "quick", "tokenizer_backend is 'quick'; it must be one of auto, wordpiece, "),
        (["a", "b"], "auto", r"set one of `vocab_file` .*; both are set"),
        ([None], "auto", r"set one of `vocab_file` .*; neither is set"),
    ],
)
def test_settings_that_do_not_fit_together(files, backend, reason):
    with pytest.raises(ValueError, match=reason):
        load_tokenizer(*files, backend=backend)


class TestVocabularyOf:
    def test_what_instances_need(self, tmp_path):
        special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        tokenizer = load_tokenizer(None, byte_pairs(tmp_path / "b.json", special))
        vocabulary = vocabulary_of(tokenizer)
        assert (vocabulary.cls_id, vocabulary.sep_id, vocabulary.mask_id) == (2, 3, 4)
        assert vocabulary.size == tokenizer.num_ids and vocabulary.continuation.any()
        assert [vocabulary.tokens[i] for i in range(5)] == list(special)

    def test_what_is_missing(self, tmp_path):
        tokenizer = load_tokenizer(None, byte_pairs(tmp_path / "b.json", ("[UNK]", "[CLS]")))
        with pytest.raises(ValueError, match=r"b\.json does not say .* sep, mask, which"):
            vocabulary_of(tokenizer)

    def test_only_what_is_needed_must_be_there(self, tmp_path):
        path = byte_pairs(tmp_path / "t5.json", ("<pad>", "</s>", "<unk>"))
        vocabulary = read_vocabulary(path, needed=("sep",))
        assert (vocabulary.sep_id, vocabulary.cls_id, vocabulary.mask_id) == (1, -1, -1)

    def test_other_wordpiece_keeps_its_continuations(self, tmp_path):
        path = wordpiece(tmp_path / "t.json", TOKENS, pre_tokenizer={"type": "Whitespace"})
        vocabulary = vocabulary_of(load_tokenizer(None, path))
        assert vocabulary.continuation.tolist() == [token.startswith("##") for token in TOKENS]

    def test_of_a_file_of_either_kind(self, tmp_path):
        lines, path = tmp_path / "vocab.txt", wordpiece(tmp_path / "t.json", TOKENS)
        lines.write_text("".join(f"{token}\n" for token in TOKENS))
        digest = hashlib.sha256(lines.read_bytes()).hexdigest()
        for file in (str(lines), path):
            vocabulary = read_vocabulary(file)
            assert vocabulary.sha256 == vocabulary_sha256(file) == digest
            assert vocabulary.ids == {t: number for number, t in enumerate(TOKENS)}
        (tmp_path / "odd.txt").write_text("{\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
        assert read_vocabulary(str(tmp_path / "odd.txt")).ids["{"] == 0


def test_a_folder_of_hugging_face_is_its_tokenizer(tmp_path, monkeypatch):
    folder = tmp_path / "org" / "name"
    folder.mkdir(parents=True)
    path = byte_pairs(folder / "tokenizer.json", ("[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    monkeypatch.chdir(tmp_path)
    for named in (str(folder), "org/name", "org/name/"):
        assert load_tokenizer(None, named).sha256 == load_tokenizer(None, path).sha256
        assert read_vocabulary(named).sha256 == vocabulary_sha256(named) == vocabulary_sha256(path)
        assert (
            read_tokenizer(named, do_lower_case=None).num_ids == load_tokenizer(None, path).num_ids
        )
    (folder / "tokenizer.json").rename(folder / "vocab.txt")
    with pytest.raises(
        ValueError, match=r"^org/name is a folder without a tokenizer\.json; it has"
    ):
        load_tokenizer(None, "org/name")


@pytest.mark.parametrize("name", ["bert-base-uncased", "org/Model-3.2_1B"])
def test_a_name_of_hugging_face_is_answered_with_the_command_for_its_file(name):
    folder = name.rpartition("/")[2]
    for files, file in (((None, name), "tokenizer.json"), ((name,), "vocab.txt")):
        command = f"fetch its file first: hf download {name} {file} --local-dir {folder}"
        with pytest.raises(FileNotFoundError, match="no such file or folder; ") as caught:
            load_tokenizer(*files)
        assert caught.value.filename == name and caught.value.strerror.endswith(command)


@pytest.mark.parametrize("name", ["a/b/c", "tokenizer.json", "org/spiece.model", "/a"])
def test_other_names_are_files_that_are_not_there(name):
    with pytest.raises(FileNotFoundError):
        load_tokenizer(None, name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[PAD]\n[UNK]\n", "not JSON"),
        (b'{"a": 1}', "no model with a vocab"),
        (b'{"model": {"type": "BPE", "vocab": {"a": 0}}}', "not a readable"),
        (b'{"model": {"type": 7, "vocab": {"a": 0}}}', "not a readable"),
        (b'{"normalizer": [], "model": {"type": "WordPiece", "vocab": {"a": "b"}}}', "not a rea"),
        (b"[" * 200_000, "nested too deep"),
        (b'{"a": ' + b"9" * 6_000 + b"}", "4300 digits"),
        (b'{"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}}', "has dropout"),
    ],
)
def test_what_is_no_tokenizer(tmp_path, content, reason):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(ValueError, match=rf"t\.json .*{reason}"):
        load_tokenizer(None, str(tmp_path / "t.json"))


def test_an_unknown_token_that_is_missing(tmp_path):
    path = wordpiece(tmp_path / "t.json", TOKENS, model__unk_token="?")
    tokenizer = load_tokenizer(None, path)
    assert isinstance(tokenizer, LibraryTokenizer)
    with pytest.raises(ValueError, match=r"t\.json cannot tokenize the text: .*Missing"):
        tokenizer.tokenize_sequences(["zzz"], [1])


def test_the_digest_of_other_files_is_that_of_their_bytes(tmp_path):
    path = byte_pairs(tmp_path / "b.json")
    (tmp_path / "odd.txt").write_bytes(b"{\n[UNK]\n")
    for file in (path, str(tmp_path / "odd.txt")):
        with open(file, "rb") as content:
            assert vocabulary_sha256(file) == hashlib.sha256(content.read()).hexdigest()
    assert vocabulary_sha256(path) == load_tokenizer(None, path).sha256


@pytest.mark.parametrize("place", ["vocab", "added_tokens"])
def test_an_id_for_which_no_table_fits_is_refused_before_a_library_sees_it(
    tmp_path, monkeypatch, place
):
    path = tmp_path / "t.json"
    definition = {"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": []}
    if place == "vocab":
        definition["model"]["vocab"]["b"] = 2**31
    else:
        definition["added_tokens"].append({"content": "b", "id": 2**31})
    path.write_text(json.dumps(definition))
    monkeypatch.setattr("bert_data.tokens.library_tokenizer.choose_backend", None)
    with pytest.raises(ValueError, match=r"of the id 2147483648; it must be below 10,000,000"):
        load_tokenizer(None, str(path))
