"""Sets by functions of a program: the files of `create_dataset` where they change nothing."""

import dataclasses
import gzip
import json
import random
import struct
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import tensorflow  # noqa: F401 (its import starts a process)

from bert_data.inspection.configs import CheckConfig
from bert_data.inspection.set_check import check_set
from bert_data.records.definition import TrainingInstance, create_training_instances
from bert_data.records.example_definition import write_instance_to_example_files
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.plain import ProgramFunctions, create_by_program
from bert_data.text.text_config import TextConfig
from bert_data.tokens.definition import FullTokenizer
from tests.inspection.making import frame
from tests.rows import mostly_slow

INSTANCES = InstanceConfig(max_seq_length=40, max_predictions_per_seq=6, dupe_factor=2)
NAMES = ("create_training_instances", "create_int_feature")
FUNCTIONS = ProgramFunctions(
    names=NAMES, full_tokenizer=FullTokenizer, create_training_instances=create_training_instances
)


@pytest.fixture
def config(small_text, small_vocabulary, tmp_path):
    """Configures a set in a new folder: config("a", compression="gzip")."""

    def make(folder: str, output: str = "t@3", **options) -> DatasetConfig:
        return DatasetConfig(
            input_file=str(options.pop("input_file", small_text)),
            output_file=str(tmp_path / folder / output),
            vocab_file=str(small_vocabulary),
            instances=INSTANCES,
            **options,
        )

    return make


def without_manifests(folder: Path) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert any(name.startswith("manifest.") for name in files)
    return {name: data for name, data in files.items() if not name.startswith("manifest.")}


@mostly_slow(
    "options",
    [
        {},
        {"record_layout": "reference", "feature_names": "v2"},
        {"compression": "gzip", "output": "t@320"},
        {"output_format": "parquet"},
        {"output_format": "parquet", "record_layout": "reference"},
    ],
)
def test_functions_that_change_nothing_give_the_same_files(config, tmp_path, options):
    """Parquet files also hold their manifest, which names the functions."""
    create_dataset(config("fast", **options))
    made = create_by_program(config("plain", **options), FUNCTIONS)
    files, expected = without_manifests(tmp_path / "plain"), without_manifests(tmp_path / "fast")
    assert files.keys() == expected.keys()
    if options.get("output_format") == "parquet":
        for name in files:
            tables = [pq.read_table(tmp_path / folder / name) for folder in ("plain", "fast")]
            assert tables[0].equals(tables[1])
    else:
        assert files == expected
    assert made.manifest.flags["program_functions"] == list(NAMES)
    report = check_set(CheckConfig(input_patterns=made.paths))
    assert not report.is_harmful and report.num_records > 100


@pytest.mark.process
def test_a_writer_that_changes_nothing_gives_the_same_files(config, tmp_path):
    create_dataset(config("fast", record_layout="reference"))
    functions = dataclasses.replace(
        FUNCTIONS, write_instance_to_example_files=write_instance_to_example_files
    )
    create_by_program(config("plain", record_layout="reference"), functions)
    assert without_manifests(tmp_path / "plain") == without_manifests(tmp_path / "fast")
    with pytest.raises(ValueError, match=r"^create_int_feature is this program's own, .* needs"):
        create_by_program(config("ragged"), functions)
    assert not (tmp_path / "ragged").exists()


@pytest.mark.parametrize(
    ("name", "options"),
    [("text.txt.gz", {}), ("text.jsonl", {}), ("latin.txt", {"encoding_errors": "replace"})],
)
def test_text_of_any_format_becomes_lines_first(config, tmp_path, small_text, name, options):
    lines = small_text.read_text().replace("zzz", "\xfc")
    rows = [{"text": text.replace("\n", " ")} for text in lines.split("\n\n")]
    content = {
        "text.txt.gz": gzip.compress(lines.encode()),
        "text.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "latin.txt": lines.encode("latin-1"),
    }[name]
    (tmp_path / name).write_bytes(content)
    settings = {"input_file": tmp_path / name, "text": TextConfig(**options)}
    create_dataset(config("fast", **settings))
    create_by_program(config("plain", **settings), FUNCTIONS)
    assert without_manifests(tmp_path / "plain") == without_manifests(tmp_path / "fast")


def test_bytes_that_are_no_utf_8_are_refused_by_the_name_of_their_file(config, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"Z\xfcrich .\n" * 3)
    with pytest.raises(ValueError, match=r"latin.txt: not UTF-8 "):
        create_by_program(config("plain", input_file=tmp_path / "latin.txt"), FUNCTIONS)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_partitions": 2}, "num_partitions is 2; create_training_instances is"),
        (
            {"instances": dataclasses.replace(INSTANCES, next_sentence="sop")},
            "next_sentence is 'sop'; .* does not have `next_sentence`",
        ),
    ],
)
def test_what_the_definition_does_not_have_is_refused(config, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        create_by_program(dataclasses.replace(config("a"), **change), FUNCTIONS)


GOOD = {
    "tokens": ["[CLS]", "ba", "[SEP]", "ki", "[SEP]"],
    "segment_ids": [0, 0, 0, 1, 1],
    "masked_lm_positions": [1, 3],
    "masked_lm_labels": ["ba", "ki"],
    "is_random_next": False,
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, ""),
        ({"tokens": ["[CLS]", "nowhere", "[SEP]", "ki", "[SEP]"]}, "the token 'nowhere', which"),
        ({"segment_ids": [0, 0, 0, 1]}, "5 and 4 tokens and segment ids; .* at most 40"),
        ({"tokens": ["ba"] * 41, "segment_ids": [0] * 41}, "41 and 41 tokens"),
        ({"masked_lm_positions": [3, 1]}, r"of 5 tokens has masked_lm_positions \(3, 1\)"),
        ({"masked_lm_positions": [1, 5]}, r"masked_lm_positions \(1, 5\)"),
        ({"masked_lm_positions": [1]}, "1 and 2 positions and labels to predict; .* most 6"),
        ({"is_random_next": None}, "is_random_next None"),
        ({"segment_ids": [0, 0, 0, 2, 2]}, r"segment ids \[0, 2\]"),
    ],
)
def test_what_is_no_instance_is_refused(config, tmp_path, change, sentence):
    instance = TrainingInstance(**{**GOOD, **change})
    functions = dataclasses.replace(FUNCTIONS, create_training_instances=lambda *_: [instance])
    if not sentence:
        create_by_program(config("a"), functions)
        return
    with pytest.raises(ValueError, match=sentence):
        create_by_program(config("a"), functions)
    assert not (tmp_path / "a").exists()


def test_no_instances_are_refused(config):
    functions = dataclasses.replace(FUNCTIONS, create_training_instances=lambda *_: [])
    with pytest.raises(ValueError, match="no instances were made"):
        create_by_program(config("a"), functions)


def _writes(content: bytes | None):
    def write(*arguments: object) -> None:
        (*_, paths) = arguments
        for path in paths if content is not None else ():
            Path(path).write_bytes(content)

    return write


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "this program's function has not written it"),
        (b"text", "wrote no tf.train.Example at byte 0"),
        (struct.pack("<Q", 2) + b"1234\xff\xff5678", "wrote no tf.train.Example at byte 0"),
        (frame(b""), "0 values in the int64_list input_ids; .* be 40"),
    ],
)
def test_records_that_are_not_googles_are_refused(config, tmp_path, content, sentence):
    functions = dataclasses.replace(FUNCTIONS, write_instance_to_example_files=_writes(content))
    with pytest.raises(ValueError, match=sentence):
        create_by_program(config("a", record_layout="reference"), functions)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("damage", [lambda data: data[:-4], lambda data: data[:-1] + b"?"])
def test_records_of_another_length_or_checksum_are_refused(config, tmp_path, damage):
    def write(*arguments: object) -> None:
        write_instance_to_example_files(*arguments)
        (*_, (*_, last)) = arguments
        Path(last).write_bytes(damage(Path(last).read_bytes()))

    functions = dataclasses.replace(FUNCTIONS, write_instance_to_example_files=write)
    with pytest.raises(ValueError, match=r"t-00002-of-00003: .* wrote no tf.train.Example at byte"):
        create_by_program(config("a", record_layout="reference"), functions)
    assert not (tmp_path / "a").exists()


def test_the_seed_is_the_set_s(config, tmp_path):
    seeds = []
    functions = dataclasses.replace(
        FUNCTIONS,
        create_training_instances=lambda *arguments: (
            seeds.append(arguments[-1].random()),
            create_training_instances(*arguments[:-1], random.Random(1)),
        )[1],
    )
    create_by_program(config("a"), functions)
    assert seeds == [random.Random(INSTANCES.random_seed).random()]
