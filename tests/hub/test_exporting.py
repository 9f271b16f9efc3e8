"""Exports work in another program, and mistakes are refused."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bert_data.hub import ExportConfig, HuggingFaceExportConfig, export, export_hugging_face, saving
from bert_data.hub.export_config import CARD
from bert_data.storage.refusals import PRODUCT_LIST, note_product
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.tokens.vocabulary import load_vocabulary
from bert_data.training.bert_config import BertConfig
from bert_data.training.model_vocabulary import find_vocabularies
from tests.full_disk import full_disk
from tests.hub.exports import TOKENS, write_model

COVERS = ("hub/export_config", "hub/pretrained")

PROGRAM = Path(__file__).with_name("loading_program.py")
GOODLY_FILM = [5, 7, 8, 9]
NAMES = [
    *(CARD, "assets", PRODUCT_LIST, "fingerprint.pb", "saved_model.pb", "variables"),
    "vocabulary.json",
]
"""Of a folder that was exported."""


@pytest.fixture(scope="module")
def seen(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a program that runs elsewhere, without bert_data on its path."""
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    environment.pop("PYTHONPATH", None)
    result = subprocess.run(
        [sys.executable, str(PROGRAM), str(exported)],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.process
def test_preprocessing_has_the_interface_of_tf_hub(seen: dict[str, Any]) -> None:
    assert not seen["has_bert_data"]
    preprocessing = seen["preprocessing"]
    assert preprocessing["tokens"] == [[[5, 7], [8], [9]], [[6]] * 8, []]
    assert preprocessing["special"] == {
        "vocab_size": 11,
        "padding_id": 0,
        "start_of_sequence_id": 2,
        "end_of_segment_id": 3,
        "mask_id": 4,
    }
    assert preprocessing["vocabulary"] == [*TOKENS, ""]
    assert preprocessing["do_lower_case"]


@pytest.mark.slow
@pytest.mark.process
def test_rows_of_every_way_to_pack(seen: dict[str, Any]) -> None:
    rows = seen["preprocessing"]["rows"]
    assert rows["default"]["input_word_ids"] == [
        [2, *GOODLY_FILM, 3, 0, 0],
        [2, *[6] * 6, 3],
        [2, 3, *[0] * 6],
    ]
    assert rows["default"]["input_mask"] == [[1] * 6 + [0] * 2, [1] * 8, [1] * 2 + [0] * 6]
    assert rows["default"]["input_type_ids"] == [[0] * 8] * 3
    assert rows["default"] == rows["one"] == rows["served"]
    assert rows["number"]["input_word_ids"][0] == [2, *GOODLY_FILM[:3], 3]
    assert rows["tensor"] == rows["flat"]
    assert rows["tensor"]["input_word_ids"][0] == [2, 5, 7, 3, 5, 7, 3]
    assert rows["tensor"]["input_type_ids"][0] == [0, 0, 0, 0, 1, 1, 1]
    assert rows["longest"]["input_word_ids"] == [[2, *GOODLY_FILM, 3]]
    assert [len(row) for row in rows["limited"]["input_word_ids"]] == [6] * 3


@pytest.mark.slow
@pytest.mark.process
def test_the_encoder_has_the_interface_of_tf_hub(seen: dict[str, Any]) -> None:
    assert seen["encoding"] == {
        "names": ["default", "encoder_outputs", "pooled_output", "sequence_output"],
        "num_layers": 2,
        "shapes": {"3": [2, 3, 8], "10": [2, 10, 8]},
        "default_is_pooled": True,
        "dropout_varies": True,
        "logits": [2, 2, 11],
        "served": ["default", "pooled_output", "sequence_output"],
        "num_trainable": 39,
    }


@pytest.mark.slow
@pytest.mark.process
def test_it_is_fine_tuned_through_keras_layers_of_tf_hub(seen: dict[str, Any]) -> None:
    tuning = seen["fine_tuning"]
    assert tuning["losses"][-1] < tuning["losses"][0] / 2
    assert tuning["num_weights"] == 39
    # The bias of the keys shifts all scores alike: its gradient is rounding error or nothing.
    assert tuning["num_moved"] >= 37
    assert tuning["num_frozen"] == 0
    assert tuning["direct"] == seen["preprocessing"]["rows"]["default"]["input_word_ids"]


def config_of(folder: Path, sizes: dict[str, int] | None = None, **changes: Any) -> ExportConfig:
    """A configuration for a model that is written to the folder."""
    model = write_model(folder, **(sizes or {}))
    values = {
        "vocab_file": model.vocab_file,
        "init_checkpoint": model.checkpoint,
        "output_dir": str(folder / "hub"),
        "seq_length": 8,
    }
    return ExportConfig(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"vocab_file": None}, "nothing to export: give `vocab_file` for preprocessing"),
        ({"output_dir": ""}, "output_dir is ''; it must not be empty"),
        ({"bert_config_file": "c"}, "bert_config_file needs `init_checkpoint`, the weights"),
    ],
)
def test_a_configuration_checks_itself(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        ExportConfig(**{"vocab_file": "v", "output_dir": "o", **changes})
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("sizes", "changes", "sentence"),
    [
        ({}, {"seq_length": 11}, "seq_length is 11; the model reads up to 10 tokens (max_pos"),
        ({}, {"init_checkpoint": "none"}, "there is no checkpoint 'none'"),
        ({"hidden_size": 10}, {}, "variable 'bert/"),
        ({"vocab_size": 10}, {}, "vocabulary "),
    ],
)
def test_files_that_do_not_fit_are_told_before_anything_is_written(
    tmp_path: Path, sizes: dict[str, int], changes: dict[str, Any], sentence: str
) -> None:
    config = config_of(tmp_path, sizes, **{"output_dir": str(tmp_path / "new/hub"), **changes})
    with pytest.raises(ValueError) as error:
        export(config)
    assert str(error.value).startswith(sentence)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("positions", "width"), [(10, 10), (200, 128)])
def test_rows_are_as_wide_as_the_model_reads_by_default(
    tmp_path: Path, monkeypatch: Any, positions: int, width: int
) -> None:
    sizes = BertConfig(vocab_size=11, max_position_embeddings=positions)
    monkeypatch.setattr(saving, "fitting_config", lambda *_, **__: sizes)
    monkeypatch.setattr(saving, "encoder_object", lambda *_: None)
    config = config_of(tmp_path, seq_length=None)
    weights = saving.open_weights(config.init_checkpoint)
    vocabulary = load_vocabulary(config.vocab_file)
    assert saving.load_fitting_encoder(config, weights, vocabulary)[:2] == (None, width)


@pytest.mark.slow
def test_objects_are_what_files_are(exported: Path, object_store: Any) -> None:
    vocabulary = "".join(f"{token}\n" for token in TOKENS)
    object_store.put("vocab.txt", vocabulary.encode())
    uri = object_store.uri("hub")
    config = ExportConfig(vocab_file=object_store.uri("vocab.txt"), output_dir=uri)
    report = export(config)
    files = [path for path in (exported / "preprocess").rglob("*") if path.is_file()]
    names = sorted(str(path.relative_to(exported.parent)) for path in files)
    assert object_store.keys("hub/") == names
    assert object_store.get("hub/preprocess/assets/vocab.txt") == vocabulary.encode()
    assert list(report.folder_bytes) == [f"{uri}/preprocess"] and report.folder_bytes[
        f"{uri}/preprocess"
    ] == sum(len(object_store.get(name)) for name in names)
    with pytest.raises(FileExistsError, match="exists already"):
        export(config)


def other_tokenizer(folder: Path, **changes: object) -> ExportConfig:
    definition = json.loads(tokenizer_json(TOKENS, do_lower_case=False))
    definition["model"] |= changes
    (folder / "t.json").write_text(json.dumps(definition), encoding="utf-8")
    return ExportConfig(tokenizer_file=str(folder / "t.json"), output_dir=str(folder / "hub"))


# As `tokenizers` has them; an added token may be longer than words.
IDS_OF_TEXTS = {
    "exact": {
        "Goodly goodly film[SEP]": [[1], [5, 7], [8], [3]],
        "goodlyly \ue000film": [[1], [8]],
        "films[SEP] goodlyly[SEP]": [[1], [3], [1], [3]],
    },
    "fast": {"goodly film": [[5, 7], [8]], "goodlyly film": [[1], [8]]},
}


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", IDS_OF_TEXTS)
def test_a_tokenizer_file_stands_for_vocabulary_case_and_longest_word(
    tmp_path: Path, tokenizer: str
) -> None:
    config = other_tokenizer(tmp_path, max_input_chars_per_word=6)
    report = export(dataclasses.replace(config, tokenizer=tokenizer))
    assert report.vocab_size == len(TOKENS)
    loaded = tf.saved_model.load(str(tmp_path / "hub" / "preprocess"))
    with open(loaded.tokenize.vocab_file.asset_path.numpy(), encoding="utf-8") as file:
        assert file.read().split() == list(TOKENS)
    assert not loaded.tokenize.do_lower_case.numpy()
    ids = IDS_OF_TEXTS[tokenizer]
    assert loaded.tokenize(tf.constant([*ids])).to_list() == [*ids.values()]


def test_other_tokenizers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not WordPiece with BERT's rules"):
        export(other_tokenizer(tmp_path, continuing_subword_prefix="@@"))
    assert not (tmp_path / "hub").exists()


def test_a_released_models_casing_is_checked(tmp_path: Path) -> None:
    model = write_model(tmp_path)
    paths = {"vocab_file": model.vocab_file, "output_dir": str(tmp_path / "o")}
    cased = "cased_L-12_H-768_A-12/bert_model.ckpt"
    for config in (ExportConfig, HuggingFaceExportConfig):
        make = export if config is ExportConfig else export_hugging_face
        with pytest.raises(ValueError, match="is the name of a cased model: set `do_lower_case=F"):
            make(config(init_checkpoint=cased, **paths))
        with pytest.raises(ValueError, match=r"no checkpoint|no such|No such"):
            make(config(init_checkpoint=cased, do_lower_case=True, **paths))


@pytest.mark.process
def test_mistakes_are_found_before_tensorflow_is_imported(tmp_path: Path) -> None:
    (tmp_path / "hub" / "preprocess").mkdir(parents=True)
    program = f"""
import sys
from bert_data.hub import ExportConfig, export
for changes in ({{"output_dir": {str(tmp_path / "hub")!r}}}, {{}}, {{"seq_length": 1}}):
    try:
        export(ExportConfig(**{{"vocab_file": "none", "output_dir": "out", **changes}}))
    except (OSError, ValueError) as error:
        print(type(error).__name__)
print("tensorflow" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])},
    )  # fmt: skip
    assert done.stdout.split() == ["FileExistsError", "FileNotFoundError", "ValueError", "False"]
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("exported")  # a process's first export leaves TensorFlow's own code behind
def test_a_full_disk_is_named_and_leaves_the_old_folders(tmp_path: Path, monkeypatch: Any) -> None:
    config = config_of(tmp_path, overwrite=True)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for name in ("preprocess", "encoder"):
        (tmp_path / "hub" / name).mkdir(parents=True)
        (tmp_path / "hub" / name / "old").write_text("precious")
        note_product(str(tmp_path / "hub" / name), "bert-data export-hub")
    before = sorted(tmp_path.rglob("*"))
    with (
        full_disk(3000),
        pytest.raises(OSError, match=r"hub/preprocess: cannot be written: File too"),
    ):
        export(config)
    assert sorted(tmp_path.rglob("*")) == before
    export(dataclasses.replace(config, init_checkpoint=None))
    assert sorted(os.listdir(tmp_path / "hub" / "preprocess")) == NAMES
    assert not list(scratch.iterdir())  # what TensorFlow generates would outlive a killed run


@pytest.mark.slow
def test_an_export_of_both_leaves_nothing_else(exported: Path) -> None:
    assert sorted(os.listdir(exported)) == ["encoder", "preprocess"]
    for folder in ("encoder", "preprocess"):
        assert sorted(os.listdir(exported / folder)) == NAMES
        (vocabulary,) = find_vocabularies(str(exported / folder))
        assert vocabulary.path == str(exported / folder / "assets" / "vocab.txt")


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", ["encoder", "preprocess", "the guide"])
def test_the_lines_that_are_shown_load_the_folders(
    exported: Path, checkout: Path, name: str
) -> None:
    """In a process of their own, which has nothing but what they import."""
    is_guide = name == "the guide"
    page = checkout / "docs/guides/tf_hub.md" if is_guide else exported / name / CARD
    code = page.read_text().partition("```python\n")[2].partition("```")[0]
    code = code.replace("seq_length=16", "seq_length=8")  # the model has ten positions
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=exported.parent if is_guide else exported,
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("(2, 8) (2, 8, 8)\n" if name == "encoder" else "")


@pytest.mark.slow
def test_an_encoder_alone_keeps_its_vocabulary(tmp_path: Path) -> None:
    export(config_of(tmp_path, vocab_file=None))
    (vocabulary,) = find_vocabularies(str(tmp_path / "hub" / "encoder"))
    assert vocabulary.path == str(tmp_path / "hub" / "encoder" / "vocab.txt")


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    config = config_of(tmp_path, vocab_file=str(other))
    other.write_text((tmp_path / "vocab.txt").read_text().replace("film", "plot"))
    with pytest.raises(ValueError, match=r"other.txt .* is not .*vocab.txt .*; `allow_other_vocab"):
        export(config)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # the interpreter is deprecated
def test_tensorflow_lite_converts_the_encoder(exported: Path) -> None:
    folder = str(exported / "encoder")
    content = tf.lite.TFLiteConverter.from_saved_model(folder).convert()
    interpreter = tf.lite.Interpreter(model_content=content)
    ids = np.array([[2, 5, 6, 3, 0, 0, 0, 0]], np.int32)
    inputs = {"input_word_ids": ids, "input_mask": np.sign(ids), "input_type_ids": 0 * ids}
    outputs = interpreter.get_signature_runner()(**inputs)
    expected = tf.saved_model.load(folder)(inputs)["pooled_output"]
    np.testing.assert_allclose(outputs["pooled_output"], expected, atol=1e-5)
