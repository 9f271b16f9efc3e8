"""A configuration says itself what is wrong with it: field, value, what is allowed."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bert_data.reader import (
    ReaderConfig,
    describe_order,
    limits_of_manifests,
    vocab_size_of_manifests,
)
from tests.reader.files.test_checks import write_manifest
from tests.reader.making import MAX_PREDICTIONS, MAX_TOKENS, make_instances, write_shards


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"input_patterns": ""}, "input_patterns is ''; must name files"),
        ({"input_patterns": "a,,b"}, "input_patterns is 'a,,b'"),
        ({"input_patterns": []}, r"input_patterns is \(\); must name files"),
        ({"num_hosts": 2, "host_index": 2}, "host_index is 2; it must be below num_hosts, 2"),
        (
            {"width": (64, 512), "max_seq_length": 128},
            r"width is \(64, 512\); it must not exceed max_seq_length, 128",
        ),
    ],
)
def test_values_that_are_not_allowed(changes: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ReaderConfig(**{"input_patterns": "a", "batch_size": 1, **changes})


def test_patterns_of_a_string_and_of_a_list() -> None:
    assert ReaderConfig(input_patterns="a*,b", batch_size=1).patterns == ("a*", "b")
    assert ReaderConfig(input_patterns=["a,b", "c"], batch_size=1).patterns == ("a,b", "c")


INSTANCES = make_instances(9)


def config_of(folder: Path, **changes: Any) -> ReaderConfig:
    values = {"input_patterns": f"{folder}/part-*", "batch_size": 4, "shuffle": True, "seed": 3}
    return ReaderConfig(**{**values, **changes})


@pytest.fixture(params=[False, True], ids=["alone", "manifest"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Two padded shards, without and with a manifest."""
    write_shards(tmp_path, 2, INSTANCES, "reference")
    if request.param:
        write_manifest(tmp_path)
    return tmp_path


def test_what_does_not_change_the_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    description = describe_order(config_of(folder))
    same: list[dict[str, Any]] = [
        {"width": "max"},
        {"max_seq_length": 512, "max_predictions_per_seq": 76, "vocab_size": 30522},
        {"skip_corrupt": True, "form": "fit", "feature_names": "tfhub", "vocab_file": "vocab"},
        {"input_patterns": [f"{folder}/part-00000*", f"{folder}/part-00001*"]},
        {"start_batch": 5, "num_epochs": None},
    ]
    assert [describe_order(config_of(folder, **changes)) for changes in same] == [
        description
    ] * len(same)
    monkeypatch.chdir(folder.parent)
    assert describe_order(config_of(Path(folder.name))) == description
    in_order = [describe_order(config_of(folder, shuffle=False, seed=seed)) for seed in (1, 2)]
    assert in_order[0] == in_order[1] != description


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 5},
        {"seed": 4},
        {"shuffle_buffer": 100},
        {"drop_remainder": True},
        {"num_hosts": 2},
    ],
)
def test_settings_that_change_the_order(folder: Path, changes: dict[str, Any]) -> None:
    description, other = (describe_order(config_of(folder, **values)) for values in ({}, changes))
    assert {name for name in description if description[name] != other[name]} == set(changes)


def test_shards_that_change_the_order(folder: Path) -> None:
    description = describe_order(config_of(folder))
    shards = sorted(folder.glob("part-*"))
    names = f"{shards[1]},{shards[0]}"
    swapped = describe_order(config_of(folder, input_patterns=names))
    assert (swapped["shard 0"], swapped["shard 1"]) == (
        description["shard 1"],
        description["shard 0"],
    )
    assert "shard 1" not in describe_order(config_of(folder, input_patterns=str(shards[0])))


def test_other_records_in_as_many_bytes(tmp_path: Path) -> None:
    write_shards(tmp_path, 1, INSTANCES, "reference")
    path = next(tmp_path.glob("part-*"))
    before, size = describe_order(config_of(tmp_path)), path.stat().st_size
    write_shards(tmp_path, 1, [*INSTANCES[1:], INSTANCES[0]], "reference")
    assert path.stat().st_size == size
    assert before != describe_order(config_of(tmp_path))


def test_a_manifest_tells_the_records(tmp_path: Path) -> None:
    write_shards(tmp_path, 1, INSTANCES)
    none = limits_of_manifests(config_of(tmp_path))
    assert (none.max_seq_length, none.max_predictions_per_seq) == (None, None)
    assert vocab_size_of_manifests(config_of(tmp_path)) is None
    manifest = write_manifest(tmp_path)
    assert vocab_size_of_manifests(config_of(tmp_path)) == manifest.vocabulary.size
    limits = limits_of_manifests(config_of(tmp_path))
    assert (limits.max_seq_length, limits.max_predictions_per_seq) == (MAX_TOKENS, MAX_PREDICTIONS)
    (file,) = manifest.files
    write_manifest(tmp_path, files=(dataclasses.replace(file, crc32c=0xAB),))
    described = describe_order(config_of(tmp_path))["shard 0"]
    assert described == "part-00000-of-00001: 9 records, crc32c 0x000000ab"
