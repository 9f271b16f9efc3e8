"""A longer vocabulary, and a model that treats texts of old tokens as before."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bert_data.hub import (
    ExtensionConfig,
    ExtensionReport,
    HuggingFaceExportConfig,
    export_hugging_face,
    extend_vocabulary,
    pretrained,
)
from bert_data.storage.refusals import PRODUCT_LIST
from bert_data.tokens.new_tokens import count_split_words
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.vocabulary import load_vocabulary
from bert_data.training import BertConfig, load_pretrained, open_weights
from bert_data.training.checkpoints import save_checkpoint
from tests.forking import Programs
from tests.hub.exports import Model, tiny_weights, write_model
from tests.training.tiny import random_batch

TABLE, BIAS = "bert/embeddings/word_embeddings", "cls/predictions/output_bias"
KILLED = """
import os, runpy
from bert_data.storage import outputs
outputs.sync_one = lambda _: os._exit(9)
runpy.run_module("bert_data.cli.extend_vocab", run_name="__main__")
"""
TEXT = ["Goodly film.", "badly goodlyly film σ badly", "bad film"]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    folder = tmp_path / "model"
    folder.mkdir()
    return write_model(folder)


def tokenizer_of(path: str | Path) -> FastTokenizer:
    return FastTokenizer(load_vocabulary(path))


def extend(model: Model, output: Path, new_tokens: list[str], **changes: object) -> ExtensionReport:
    tokenizer = tokenizer_of(model.vocab_file)
    values = {"init_checkpoint": model.checkpoint, "output_dir": str(output), **changes}
    words = count_split_words(TEXT, tokenizer)
    return extend_vocabulary(ExtensionConfig(**values), tokenizer, new_tokens, words)


def test_new_rows_are_the_means_of_the_pieces(model: Model, tmp_path: Path) -> None:
    output = tmp_path / "out" / "longer"
    report = extend(model, output, ["badly", "goodly"])
    assert sorted(path.name for path in output.iterdir()) == [
        "bert_config.json", PRODUCT_LIST, "checkpoint", "model.ckpt-0.data-00000-of-00001",
        "model.ckpt-0.index", "tokenizer.json", "vocab.txt", "vocabulary.json",
    ]  # fmt: skip
    old, new = tokenizer_of(model.vocab_file), tokenizer_of(output / "vocab.txt")
    assert new.encode("badly goodly") == [11, 12]
    assert BertConfig.from_json_file(str(output / "bert_config.json")) == dataclasses.replace(
        model.config, vocab_size=13
    )
    before, after = open_weights(model.checkpoint), open_weights(str(output))
    for name in (TABLE, BIAS):
        rows = before.read(name)
        means = [rows[old.encode(word)].mean(axis=0) for word in ("badly", "goodly")]
        np.testing.assert_allclose(after.read(name), [*rows, *means], rtol=1e-6)
    batch = random_batch()
    for key, scores in load_pretrained(model.checkpoint)(batch).items():
        changed = load_pretrained(str(output))(batch)[key].numpy()
        np.testing.assert_allclose(changed[..., : scores.shape[-1]], scores, atol=1e-5)
    text = str(report)
    assert "11 -> 13 tokens" in text and "1.5000 -> 1.1000 tokens per word, in 10 words" in text
    assert "1 (1 times) begin with a new token" in text  # goodlyly
    assert "3 texts of old tokens have the same ids" in text


@pytest.mark.slow
def test_moments_and_other_variables_come_along(model: Model, tmp_path: Path) -> None:
    values = tiny_weights()
    moments = {f"{name}/adam_{slot}": value + 1 for name, value in values.items() for slot in "mv"}
    more = {"global_step": np.int64(7), "global_step/settings": np.array("{}", object)}
    prefix = save_checkpoint(str(tmp_path / "model"), 7, {**values, **moments, **more}, num_kept=1)
    extend(model, tmp_path / "out", ["goodly"], init_checkpoint=prefix)
    after = open_weights(str(tmp_path / "out"))
    assert after.prefix.endswith("model.ckpt-7") and after.read("global_step/settings") == b"{}"
    rows = moments[f"{TABLE}/adam_v"]
    np.testing.assert_allclose(after.read(f"{TABLE}/adam_v")[11], rows[[5, 7]].mean(0), rtol=1e-6)
    assert after.shape(f"{BIAS}/adam_m") == [12]


@pytest.mark.slow
def test_unused_places_keep_the_size(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    vocabulary = Path(model.vocab_file)
    vocabulary.write_text(vocabulary.read_text().replace("film", "[unused3]"))
    report = extend(model, tmp_path / "out", ["goodly"])
    assert report.sizes == (11, 11) and report.num_in_slots == 1
    rows = [open_weights(path).read(TABLE) for path in (model.checkpoint, str(tmp_path / "out"))]
    same = [bool((a == b).all()) for a, b in zip(*rows, strict=True)]
    assert same == [number != 8 for number in range(11)]
    report = extend(model, tmp_path / "more", ["goodly"], use_unused=False)
    assert report.sizes == (11, 12)


@pytest.mark.slow
def test_a_folder_of_hugging_face_becomes_one(model: Model, tmp_path: Path) -> None:
    source, output = str(tmp_path / "hf"), tmp_path / "longer"
    export_hugging_face(
        HuggingFaceExportConfig(
            init_checkpoint=model.checkpoint, vocab_file=model.vocab_file, output_dir=source
        )
    )
    extend(model, output, ["badly"], init_checkpoint=source)
    names = {path.name for path in Path(source).iterdir()}
    assert {path.name for path in output.iterdir()} == {*names, PRODUCT_LIST}
    assert tokenizer_of(output / "vocab.txt").encode("badly") == [11]
    weights = load_pretrained(str(output)).released_weights()
    rows = tiny_weights()[TABLE]
    np.testing.assert_allclose(weights[TABLE], [*rows, (rows[6] + rows[7]) / 2], rtol=1e-6)


def test_without_a_text_the_vocabularys_own_words_are_compared(
    model: Model, tmp_path: Path
) -> None:
    config = ExtensionConfig(init_checkpoint=model.checkpoint, output_dir=str(tmp_path / "out"))
    report = extend_vocabulary(config, tokenizer_of(model.vocab_file), ["filmly"])
    assert "tokens per word" not in str(report) and "1 texts of old tokens" in str(report)


@pytest.mark.slow
def test_another_vocabulary_is_refused(tmp_path: Path, model: Model) -> None:
    vocabulary = tmp_path / "mine.txt"
    tokens = Path(model.vocab_file).read_text()
    vocabulary.write_text(tokens.replace("film", "plot"))
    mine = dataclasses.replace(model, vocab_file=str(vocabulary))
    with pytest.raises(ValueError, match=r"mine.txt \(11 tokens, .*\) is not .*model/vocab.txt"):
        extend(mine, tmp_path / "out", ["badly"])
    Path(model.vocab_file).unlink()  # the model does not say which it was trained with
    extend(mine, tmp_path / "out", ["badly"])
    vocabulary.write_text(tokens.replace("σ\n", ""))
    with pytest.raises(ValueError, match=r"10 tokens, .*\) has another size than the 11 of"):
        extend(mine, tmp_path / "two", ["badly"])
    report = extend(mine, tmp_path / "two", ["badly"], allow_other_vocabulary=True)
    assert report.sizes == (10, 11)
    assert open_weights(str(tmp_path / "two")).shape(TABLE) == [11, 8]
    longer = dataclasses.replace(model, vocab_file=str(tmp_path / "two" / "vocab.txt"))
    extend(longer, tmp_path / "three", ["goodly"], init_checkpoint=str(tmp_path / "two"))


@pytest.mark.slow
def test_other_outputs_leave_no_folder(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pretrained,
        "save_checkpoint",
        lambda folder, step, values, **options: save_checkpoint(
            folder, step, {**values, TABLE: np.ones_like(values[TABLE])}, **options
        ),
    )
    with pytest.raises(
        ValueError, match=r"outputs of the extended model differ by .* 1e-04 is all"
    ):
        extend(model, tmp_path / "out", ["badly"], use_unused=False)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_a_folder_of_others_is_not_replaced(model: Model, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "thesis").mkdir(parents=True)
    (home / ".bashrc").write_text("alias ll")
    with pytest.raises(FileExistsError, match=r"was not made by bert-data extend-vocab"):
        extend(model, home, ["badly"], overwrite=True)
    assert (home / ".bashrc").read_text() == "alias ll"
    extend(model, tmp_path / "out", ["badly"])
    with pytest.raises(FileExistsError, match="exists already"):
        extend(model, tmp_path / "out", ["goodly"])
    (tmp_path / "out" / "thesis").mkdir()
    with pytest.raises(FileExistsError, match="holds 'thesis/', which bert-data ext"):
        extend(model, tmp_path / "out", ["goodly"], overwrite=True)
    (tmp_path / "out" / "thesis").rmdir()
    extend(model, tmp_path / "out", ["goodly"], overwrite=True)
    assert (tmp_path / "out" / "vocab.txt").read_text().endswith("goodly\n")


def test_what_is_read_is_not_replaced(model: Model, tmp_path: Path) -> None:
    extend(model, tmp_path / "out", ["badly"])
    tokenizer = tokenizer_of(model.vocab_file)
    config = ExtensionConfig(
        init_checkpoint=model.checkpoint, output_dir=str(tmp_path / "out"), overwrite=True
    )
    with pytest.raises(ValueError, match=r"holds the input '.*words.txt'"):
        extend_vocabulary(config, tokenizer, ["goodly"], reads=[str(tmp_path / "out/words.txt")])


@pytest.mark.slow
@pytest.mark.process
def test_a_run_that_was_killed_after_its_rename_is_repeated(
    model: Model, tmp_path: Path, tensorflow_programs: Programs
) -> None:
    (tmp_path / "model" / "new.txt").write_text("badly\n")
    (tmp_path / "model" / "killed.py").write_text(KILLED)
    done = tensorflow_programs.run(
        ["model/killed.py", "--init_checkpoint=model", f"--vocab_file={model.vocab_file}",
         "--new_tokens_file=model/new.txt", "--output_dir=out"],
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 9, done.stderr
    assert [each.name for each in tmp_path.glob(".*")] and (tmp_path / "out").is_dir()
    extend(model, tmp_path / "out", ["badly"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "out"]
