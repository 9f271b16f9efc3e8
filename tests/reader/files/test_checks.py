"""A configuration that contradicts the shards is refused in one sentence, with both values."""

import dataclasses
import hashlib
import logging
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays, read_batches
from bert_data.reader.streamed import BatchSource
from bert_data.records.sets.manifest import Manifest, ManifestFile, manifest_path
from bert_data.tokens.vocabulary import VocabularyNote
from tests.reader.making import (
    MAX_PREDICTIONS,
    MAX_TOKENS,
    first_tokens,
    frame_offsets,
    make_instance,
    make_instances,
    write_shard,
    write_shards,
)

INSTANCES = make_instances(9)


def source_of(pattern: object, **changes: Any) -> BatchSource:
    return BatchSource(ReaderConfig(input_patterns=str(pattern), batch_size=4, **changes))


def write_manifest(folder: Path, **changes: Any) -> Manifest:
    """A manifest of all shards of a folder."""
    paths = sorted(folder.glob("part-*"))
    files = tuple(
        ManifestFile(
            name=path.name,
            num_records=len(frame_offsets(path)) - 1,
            num_bytes=path.stat().st_size,
            crc32c=0,
        )
        for path in paths
    )
    manifest = Manifest(
        record_layout="ragged",
        compression="none",
        max_seq_length=MAX_TOKENS,
        max_predictions_per_seq=MAX_PREDICTIONS,
        random_seed=1,
        vocabulary=VocabularyNote(size=30522, sha256=hashlib.sha256(b"a vocabulary").hexdigest()),
        flags={},
        counts={},
        files=files,
    )
    manifest = dataclasses.replace(manifest, **changes)
    Path(manifest_path(str(folder / "part"))).write_text(manifest.to_json())
    return manifest


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    """A pattern of two ragged shards with a manifest; it matches the manifest, too."""
    write_shards(tmp_path, 2, INSTANCES)
    write_manifest(tmp_path)
    return str(tmp_path / "*")


def test_the_manifest_tells_limits_counts_and_is_no_shard(pattern: str) -> None:
    source = source_of(pattern, width="max")
    assert [Path(shard.path).name[:4] for shard in source.shards] == ["part", "part"]
    limits = source.limits
    assert (limits.max_seq_length, limits.max_predictions_per_seq) == (MAX_TOKENS, MAX_PREDICTIONS)
    assert source.num_records() == 9
    batches = read_batches(source.config)
    assert batches.element_spec["input_ids"].shape.as_list() == [None, MAX_TOKENS]
    assert sorted(first_tokens(batches)) == list(range(1, 10))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"max_seq_length": 8}, "max_seq_length is 8, but the manifest of .* allows 12 tokens"),
        (
            {"max_predictions_per_seq": 3},
            "max_predictions_per_seq is 3, but the manifest of .* allows 4 predictions",
        ),
        (
            {"vocab_size": 28996},
            "vocab_size is 28996, but .* was made with a vocabulary of size 30522",
        ),
        ({"vocab_size": 30650}, "vocab_size is 30650, but .* size 30522"),
        ({"vocab_size": 30523}, "vocab_size is 30523, but .* size 30522"),
    ],
)
def test_what_contradicts_the_manifest(pattern: str, changes: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        source_of(pattern, **changes)


@pytest.mark.parametrize("size", [30522, 30528, 30592])
def test_a_vocabulary_rounded_up_is_the_same(pattern: str, size: int) -> None:
    source_of(pattern, vocab_size=size, max_seq_length=512, max_predictions_per_seq=76)


def test_another_vocabulary_of_the_same_size(pattern: str, tmp_path: Path) -> None:
    vocabulary = tmp_path.parent / "vocab.txt"
    vocabulary.write_bytes(b"a vocabulary")
    source_of(pattern, vocab_file=str(vocabulary))
    vocabulary.write_bytes(b"another one")
    digest = hashlib.sha256(b"another one").hexdigest()
    with pytest.raises(
        ValueError, match=f"^vocabulary .* has sha256 {digest}, but .* vocabulary of sha256"
    ):
        source_of(pattern, vocab_file=str(vocabulary))


def test_a_shard_that_is_not_as_its_manifest_says(pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "part-00001-of-00002"
    offsets = frame_offsets(path)
    data = path.read_bytes()
    path.write_bytes(data[: offsets[2] + 5])
    with pytest.raises(CorruptDataError, match="is cut off after 5 bytes") as caught:
        source_of(pattern)
    assert (caught.value.path, caught.value.record) == (str(path), 2)
    path.write_bytes(data[: offsets[2]])
    with pytest.raises(CorruptDataError, match=r"ends after 2 records; .* lists 4"):
        source_of(pattern)


def test_a_shard_of_the_set_that_is_not_there_is_told(
    pattern: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = sorted(tmp_path.glob("part-*"))
    with caplog.at_level(logging.WARNING, logger="absl"):
        source_of(first)  # one of two may be wanted
        assert not caplog.messages
        second.unlink()
        with pytest.raises(FileNotFoundError, match="the manifest of the set lists") as caught:
            source_of(pattern)
        assert caught.value.filename == str(second)
        source_of(first)
        source_of(pattern, skip_corrupt=True)
    (warning,) = caplog.messages
    assert re.match(
        r"missing 1 file with \d+ records that the manifest of the others lists;", warning
    )
    assert warning.endswith(str(second))


def test_the_names_of_shards_say_which_are_not_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_shard(tmp_path / "a-00001-of-00003", INSTANCES)
    with caplog.at_level(logging.WARNING, logger="absl"):
        source_of(tmp_path / "a-00001-of-00003")  # named alone
        assert not caplog.messages
        source_of(tmp_path / "a-*")
    (warning,) = caplog.messages
    assert warning.startswith("missing 2 files of the set, to judge by the names of the others;")
    assert warning.endswith(str(tmp_path / "a-00000-of-00003"))


def test_a_damaged_index_without_a_manifest_is_left_out_with_skip_corrupt(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "a", INSTANCES)
    (tmp_path / "index.a.npy").write_bytes(b"no index")
    with pytest.raises(CorruptDataError, match=r"index\.a\.npy"):
        source_of(path)
    for batching in ("stream", "plain"):
        config = ReaderConfig(
            input_patterns=str(path), batch_size=4, batching=batching, skip_corrupt=True
        )
        rows = sum(len(batch["input_ids"]) for batch in iterate_arrays(config))
        assert rows == len(INSTANCES)


def test_padded_records_of_another_length(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "google", INSTANCES, "reference")
    with pytest.raises(
        ValueError, match=r"max_seq_length is 8, but the first .*google is padded to 12 tokens"
    ):
        source_of(path, max_seq_length=8)
    with pytest.raises(ValueError, match=r"max_predictions_per_seq is 2, but .* padded to 4 pred"):
        source_of(path, max_predictions_per_seq=2)
    source_of(path, max_seq_length=512, max_predictions_per_seq=20)


def test_a_ragged_record_that_is_too_long(tmp_path: Path) -> None:
    long_first = [INSTANCES[0], make_instance(77, max_tokens=40)]
    length = len(long_first[1].tokens)
    assert length > 12
    path = write_shard(tmp_path / "ragged", long_first[::-1])
    with pytest.raises(ValueError, match=rf"max_seq_length is 12, but the first .* holds {length}"):
        source_of(path, max_seq_length=12)
    path = write_shard(tmp_path / "ragged", long_first)
    source = source_of(path, max_seq_length=12)
    with pytest.raises(
        ValueError, match=rf"max_seq_length is 12, but a record of .* holds {length}"
    ):
        list(source.groups())


def test_a_limit_that_nothing_tells(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "ragged", INSTANCES)
    with pytest.raises(
        ValueError, match=r"max_seq_length is None; it must be given because width is 'max'"
    ):
        source_of(path, width="max")
    source_of(path)


def test_ids_beyond_the_vocabulary(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "ragged", INSTANCES)
    with pytest.raises(
        ValueError, match=r"vocab_size is 100, but a record of .* holds the token id"
    ):
        list(source_of(path, vocab_size=100).groups())


def test_positions_beyond_the_row(tmp_path: Path) -> None:
    wrong = dataclasses.replace(INSTANCES[0], positions=(400,), labels=(1,))
    path = write_shard(tmp_path / "ragged", [wrong])
    with pytest.raises(ValueError, match="predicts a position outside its batch's"):
        list(source_of(path).groups())


def test_names_that_name_no_shard(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no file matches '.*nothing-\*'"):
        source_of(tmp_path / "nothing-*")
    with pytest.raises(IsADirectoryError, match="is a directory, not a shard"):
        source_of(tmp_path)
    (tmp_path / "manifest.x.json").write_text("{}")
    with pytest.raises(ValueError, match=r"no file matches"):
        source_of(tmp_path / "*")
    (tmp_path / "manifest.x.json").unlink()
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ValueError, match=r"no records in .*empty \(1 file, all empty\)"):
        source_of(tmp_path / "empty")


def test_patterns_are_sorted_and_each_shard_is_read_once(tmp_path: Path) -> None:
    for name in ("b-2", "b-1", "a"):
        write_shard(tmp_path / name, INSTANCES[:1])
    source = source_of(f"{tmp_path}/b-*,{tmp_path}/*")
    assert [Path(shard.path).name for shard in source.shards] == ["b-1", "b-2", "a"]


def test_an_empty_shard_among_others_is_no_error(tmp_path: Path) -> None:
    write_shard(tmp_path / "a", [])
    write_shard(tmp_path / "b", INSTANCES)
    assert first_tokens(read_batches(source_of(tmp_path / "*").config)) == list(range(1, 10))


def test_remote_names_go_through_tensorflow(tmp_path: Path) -> None:
    write_shard(tmp_path / "a", INSTANCES[:4])
    write_shard(tmp_path / "b", INSTANCES[4:], compression="GZIP")
    source = source_of(f"file://{tmp_path}/*")
    assert [shard.path.startswith("file://") for shard in source.shards] == [True, True]
    assert first_tokens(read_batches(source.config)) == list(range(1, 10))


def test_a_length_that_looks_like_gzip(tmp_path: Path) -> None:
    """A record of 0x8b1f bytes begins as gzip files do."""
    message = tf.train.Example()
    instance = make_instance(1, max_tokens=5)
    path = write_shard(tmp_path / "a", [instance])
    with_header = path.read_bytes()
    message.ParseFromString(with_header[12:-4])
    message.features.feature["padding"].bytes_list.value.append(b"")
    missing = 0x8B1F - message.ByteSize()
    message.features.feature["padding"].bytes_list.value[0] = b"x" * (missing - 11)
    message.features.feature["padding"].bytes_list.value[0] += b"x" * (0x8B1F - message.ByteSize())
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(message.SerializeToString())
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert first_tokens(read_batches(source_of(path).config)) == [1]
