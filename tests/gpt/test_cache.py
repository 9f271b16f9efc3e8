"""The cache of a GPT data set's arrays: names, damage, two that make it at a time."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.gpt import GptConfig, GptDataset, dataset
from tests.gpt.stores import write_store


def make_dataset(folder: Path, *, stories=None, num_samples=20, part="train", **changes):
    stories = stories or [[i] * (i + 1) for i in range(9)]
    prefix = write_store(folder / "s", stories)
    values = {"seq_length": 4, "split": "2,1", "cache_dir": str(folder / "cache"), **changes}
    return GptDataset(prefix, GptConfig(**values), split=part, num_samples=num_samples)


def test_names_and_description(tmp_path):
    dataset = make_dataset(tmp_path)
    files = sorted(os.listdir(tmp_path / "cache"))
    ends = (
        "checksums.json",
        "description.txt",
        "document_index.npy",
        "sample_index.npy",
        "shuffle_index.npy",
    )
    digest = files[0].split("-")[0]
    assert files == [f"{digest}-GPTDataset-train-{end}" for end in ends]
    text = (tmp_path / "cache" / files[1]).read_bytes()
    assert hashlib.md5(text).hexdigest() == digest
    assert json.loads(text)["sequence_length"] == 4
    kept = np.load(tmp_path / "cache" / files[3])
    assert kept.tolist() == dataset.sample_index.tolist()


def test_used_again_and_equal(tmp_path, monkeypatch):
    first = make_dataset(tmp_path)
    monkeypatch.setattr(dataset, "build_sample_index", None)  # what needs it fails
    second = make_dataset(tmp_path)
    third = make_dataset(tmp_path, stories=[[7 - i % 3] * (i + 1) for i in range(9)])
    for name in ("document_index", "sample_index", "shuffle_index"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        np.testing.assert_array_equal(getattr(first, name), getattr(third, name))
    assert not second.sample_index.flags.owndata
    assert first[3]["tokens"].tolist() == second[3]["tokens"].tolist()


@pytest.mark.parametrize(
    "changes",
    [
        {"seq_length": 5},
        {"seed": 1},
        {"split": "1,1"},
        {"num_samples": 21},
        {"num_samples": None},
        {"split": "1,2", "part": "valid"},
        {"add_extra_token_to_sequence": False},
        {"stories": [[i] * (10 - i) for i in range(9)]},
    ],
)
def test_what_changes_the_arrays_changes_the_name(tmp_path, changes):
    make_dataset(tmp_path)
    cached = make_dataset(tmp_path, **changes)
    fresh = make_dataset(tmp_path, **changes, cache_dir=None)
    for name in ("document_index", "sample_index", "shuffle_index"):
        np.testing.assert_array_equal(getattr(cached, name), getattr(fresh, name))
    assert len(os.listdir(tmp_path / "cache")) == 10


def test_options_of_masks_do_not(tmp_path):
    make_dataset(tmp_path)
    make_dataset(tmp_path, eod_id=3, reset_position_ids=True)
    assert len(os.listdir(tmp_path / "cache")) == 5


@pytest.mark.parametrize("name", ["document_index", "sample_index", "shuffle_index"])
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-1], "bytes instead of"),
        (lambda data: b"", "has 0 bytes instead of"),
        (lambda data: data + b"\0", "bytes instead of"),
    ],
)
def test_damage_is_told(tmp_path, name, damage, reason):
    make_dataset(tmp_path)
    (path,) = (tmp_path / "cache").glob(f"*-{name}.npy")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorruptDataError, match=reason) as caught:
        make_dataset(tmp_path)
    assert caught.value.path == str(path)
    assert "remove it to make it again" in str(caught.value)
    path.unlink()
    make_dataset(tmp_path)


def test_another_description_is_told(tmp_path):
    make_dataset(tmp_path)
    (path,) = (tmp_path / "cache").glob("*-description.txt")
    path.write_text(path.read_text().replace("1234", "4321"))
    with pytest.raises(CorruptDataError, match="does not match its name"):
        make_dataset(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("document_index", 99), ("document_index", 9), ("document_index", -1),
        ("sample_index", 10**6),
        ("sample_index", -5), ("shuffle_index", 2**31),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_told_when_used(tmp_path, name, value):
    dataset = make_dataset(tmp_path)
    array = getattr(dataset, name).copy()
    array.reshape(-1)[array.size // 2] = value
    setattr(dataset, name, array)
    with pytest.raises(CorruptDataError, match="not within the documents"):
        dataset.batch(range(len(dataset)))


def test_any_flip_of_a_bit_is_told(tmp_path):
    make_dataset(tmp_path)
    for path in (tmp_path / "cache").iterdir():
        data = path.read_bytes()
        for place in range(0, len(data), 7):
            flipped = bytearray(data)
            flipped[place] ^= 1 << place % 8
            path.write_bytes(flipped)
            with pytest.raises(CorruptDataError, match="remove it to make it again"):
                make_dataset(tmp_path)
        path.write_bytes(data)
    make_dataset(tmp_path)


@pytest.mark.slow
def test_some_blocks_of_a_large_file_are_checked_or_all(tmp_path, monkeypatch):
    monkeypatch.setattr("bert_data.gpt.cache.CHECKED_BLOCK_BYTES", 4)
    make_dataset(tmp_path, num_samples=100)
    (path,) = (tmp_path / "cache").glob("*-shuffle_index.npy")
    data = path.read_bytes()
    places = range(128, len(data), 4)
    checked = []
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(CorruptDataError, match=f"byte offset {place}: its bytes"):
            make_dataset(tmp_path, num_samples=100, verify=True)
        try:
            make_dataset(tmp_path, num_samples=100)
        except CorruptDataError:
            checked.append(place)
    assert places[-1] == checked[-1]
    assert 20 < len(checked) < 32 < len(places)


def test_two_that_make_it_at_a_time(tmp_path, monkeypatch):
    """The one that finds another at work makes the arrays for itself."""
    build, inner = dataset.build_sample_index, []

    def build_inside(*arguments):
        if not inner:
            inner.append(None)
            inner.append(make_dataset(tmp_path))
        return build(*arguments)

    monkeypatch.setattr(dataset, "build_sample_index", build_inside)
    outer = make_dataset(tmp_path)
    np.testing.assert_array_equal(inner[1].sample_index, outer.sample_index)
    assert len(os.listdir(tmp_path / "cache")) == 5


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(NotADirectoryError):
        make_dataset(tmp_path)
