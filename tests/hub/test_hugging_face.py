"""Folders for transformers: their tensors, settings and tokenizer, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import tokenizers

from bert_data.hub import HuggingFaceExportConfig, export_hugging_face
from bert_data.hub.exporting import FILES
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from bert_data.training.bert_config import BertConfig
from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.evaluation import load_pretrained
from bert_data.training.hugging_face_weights import hugging_face_name, is_transposed
from bert_data.training.model import pretraining_model
from bert_data.training.model_vocabulary import ModelVocabulary, find_vocabularies
from tests.goldens.hugging_face_model import SIZES, formula
from tests.hub.exports import TOKENS
from tests.rows import mostly_slow
from tests.training.test_hugging_face_weights import GOLDENS, check_outputs


def write_checkpoint(folder: Path, without: str = "none/") -> None:
    """Writes the model of the goldens as a checkpoint of Google's, and its vocabulary."""
    config = BertConfig(**SIZES, hidden_act="gelu_erf")
    values = {}
    for name, variable in pretraining_model(config).released_weights().items():
        shape = tuple(variable.shape)
        there = formula(hugging_face_name(name), shape[::-1] if is_transposed(name) else shape)
        values[name] = there.T if is_transposed(name) else there
    kept = {name: value for name, value in values.items() if not name.startswith(without)}
    save_checkpoint(str(folder), 5, {**kept, "global_step": np.int64(5)}, num_kept=1)
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))


def export(folder: Path, **changes: object) -> dict[str, np.ndarray]:
    settings = {
        "init_checkpoint": str(folder),
        "vocab_file": str(folder / "vocab.txt"),
        "output_dir": str(folder / "hf"),
    }
    report = export_hugging_face(HuggingFaceExportConfig(**{**settings, **changes}))
    assert "BertFor" in str(report) or "BertModel" in str(report)
    return safetensors.numpy.load_file(folder / "hf/model.safetensors")


def test_tensors_are_those_that_transformers_writes(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    tensors = export(tmp_path)
    assert sorted(path.name for path in (tmp_path / "hf").iterdir()) == sorted(FILES)
    golden = GOLDENS["gelu"]["shapes"]
    assert {name: list(tensor.shape) for name, tensor in tensors.items()} == golden
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor, formula(name, tensor.shape))
    values = json.loads((tmp_path / "hf/config.json").read_text())
    for name in (*SIZES, "hidden_act", "layer_norm_eps", "model_type", "architectures"):
        assert values[name] == GOLDENS["gelu"]["config"][name]
    check_outputs(load_pretrained(str(tmp_path / "hf")), "gelu")  # and back


def test_no_folder_gets_two_models(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    before = sorted(tmp_path.iterdir())
    for overwrite in (False, True):
        with pytest.raises(ValueError, match=r"already holds a model \(checkpoint\).*another"):
            export(tmp_path, output_dir=str(tmp_path), overwrite=overwrite)
    (tmp_path / "checkpoint").unlink()
    with pytest.raises(ValueError, match=r"already holds a model \(model.ckpt-5.index\)"):
        export(tmp_path, output_dir=str(tmp_path), overwrite=True)
    assert sorted(tmp_path.iterdir()) == [path for path in before if path.name != "checkpoint"]


def test_the_tokenizer_makes_the_same_ids(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    vocabulary = load_vocabulary(str(tmp_path / "vocab.txt"))
    for do_lower_case in (True, False):
        export(tmp_path, do_lower_case=do_lower_case, overwrite=True)
        library = tokenizers.Tokenizer.from_file(str(tmp_path / "hf/tokenizer.json"))
        ours = FastTokenizer(vocabulary, do_lower_case)
        for text in ("Goodly film.", "good" + "ly" * 80, "ly" * 101, "Ｇood σ\tbad\x00film"):
            assert library.encode(text, add_special_tokens=False).ids == ours.encode(text)
        pair = library.encode("good", "bad film")
        assert (pair.ids, pair.type_ids) == ([2, 5, 3, 6, 8, 3], [0, 0, 0, 1, 1, 1])
        values = json.loads((tmp_path / "hf/tokenizer_config.json").read_text())
        assert (values["do_lower_case"], values["model_max_length"]) == (do_lower_case, 10)


@mostly_slow(
    ("without", "architecture", "missing"),
    [
        ("cls/seq_relationship/", "BertForMaskedLM", {"cls.seq_relationship.", "bert.pooler."}),
        ("cls/", "BertModel", {"cls."}),
    ],
)
def test_a_checkpoint_without_heads(
    tmp_path: Path, without: str, architecture: str, missing: set[str]
) -> None:
    write_checkpoint(tmp_path, without)
    tensors = export(tmp_path)
    expected = {n for n in GOLDENS["gelu"]["shapes"] if not n.startswith(tuple(missing))}
    assert set(tensors) == expected
    assert json.loads((tmp_path / "hf/config.json").read_text())["architectures"] == [architecture]


@mostly_slow("by", ["numpy", "transformers"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_with_new_tokens(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """The guide's lines, by transformers where that is installed, make what is trained on."""
    write_checkpoint(tmp_path)
    tensors = export(tmp_path)
    pieces = {11: [6, 7], 12: [5, 7]}
    folder = tmp_path / "medical"
    if by == "transformers":
        pytest.importorskip(by, reason="transformers is not installed; bert_data does without it")
        monkeypatch.chdir(tmp_path)
        text = "Badly film!\n" * 6 + "goodly b\u00e2dly\n" * 5 + "filmly\n" * 4
        Path("medicine.txt").write_text(text, encoding="utf-8")
        guide = (checkout / "docs/guides/hugging_face.md").read_text("utf-8")
        (code,) = re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
        exec(compile(code, "guide", "exec"), {})
    else:
        folder.mkdir()
        larger = {
            name: np.concatenate([tensor, [tensor[ids].mean(0) for ids in pieces.values()]])
            if len(tensor) == len(TOKENS)
            else tensor
            for name, tensor in tensors.items()
        }
        safetensors.numpy.save_file(larger, folder / "model.safetensors", {"format": "pt"})
        config = json.loads((tmp_path / "hf/config.json").read_text()) | {"vocab_size": 13}
        (folder / "config.json").write_text(json.dumps(config))
        text = "".join(f"{token}\n" for token in (*TOKENS, "badly", "goodly"))
        (folder / "vocab.txt").write_text(text)
    tokenizer = FastTokenizer(load_vocabulary(str(folder / "vocab.txt")))
    assert tokenizer.encode("badly goodly film") == [11, 12, 8]
    model = load_pretrained(str(folder), vocab_file=str(folder / "vocab.txt"))
    weights = model.released_weights()
    for name in ("bert/embeddings/word_embeddings", "cls/predictions/output_bias"):
        rows = formula(hugging_face_name(name), weights[name].shape)[: len(TOKENS)]
        means = [rows[ids].mean(0) for ids in pieces.values()]
        np.testing.assert_allclose(weights[name], [*rows, *means], rtol=1e-6)
    with pytest.raises(ValueError, match=r"11 tokens, .* is not .*medical/vocab.txt"):
        load_pretrained(str(folder), vocab_file=str(tmp_path / "vocab.txt"))


def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in (*TOKENS, "more")))
    with pytest.raises(ValueError, match="12 tokens, more than the 11 of the model"):
        export(tmp_path)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS[1:]))
    with pytest.raises(ValueError, match=r"has no token \[PAD\], which Hugging Face's tokenizer"):
        export(tmp_path)
    assert not (tmp_path / "hf").exists()
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/config.json").write_text("{}")
    with pytest.raises(FileExistsError, match=r"hf/config\.json"):
        export(tmp_path)
    assert [path.name for path in (tmp_path / "hf").iterdir()] == ["config.json"]


@pytest.mark.parametrize("name", ["", "model.safetensors"])
def test_weights_of_hugging_face_are_not_replaced_by_their_own_export(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    folder = tmp_path / "hf"
    folder.mkdir()
    for file in ("model.safetensors", "config.json"):
        (folder / file).write_text("{}")
    with pytest.raises(ValueError, match=r"hf/model\.safetensors' is an input too"):
        export(tmp_path, init_checkpoint=str(folder / name), overwrite=True)
    assert {path.read_text() for path in folder.iterdir()} == {"{}"}
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    with pytest.raises(ValueError, match=r"hf/config\.json' is an input too"):
        export(tmp_path, init_checkpoint=str(folder), overwrite=True)


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text((tmp_path / "vocab.txt").read_text().replace("film", "plot"))
    with pytest.raises(ValueError, match=r"other.txt .* is not .*vocab.txt .*; `allow_other_vocab"):
        export(tmp_path, vocab_file=str(other))
    export(tmp_path, vocab_file=str(other), allow_other_vocabulary=True)
    (found,) = find_vocabularies(str(tmp_path / "hf"))
    assert found.path == str(tmp_path / "hf" / "vocab.txt")
    assert found.is_same(ModelVocabulary.read(str(other)))
