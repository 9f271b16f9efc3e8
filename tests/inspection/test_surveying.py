"""Damaged and missing files, and those of no manifest, are found, each with its place."""

import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.inspection.figures import DAMAGED, DOUBTFUL
from bert_data.inspection.surveying import SeenRecords
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.tokens.vocabulary import VocabularyNote
from tests.inspection.making import make_records, write_set, write_shard
from tests.inspection.test_set_check import NUM_RECORDS, check, every, forget, names


@pytest.mark.parametrize("sizes", [(20, 20, 60), (30, 30, 0)])
def test_shards_of_different_sizes(sizes: tuple[int, ...], tmp_path: Path) -> None:
    records = make_records(100, 0)
    pattern = write_set(tmp_path, records[: sum(sizes[:2])], num_shards=2)
    write_shard(tmp_path / "train-2", records[100 - sizes[2] :])
    report = check(f"{pattern},{tmp_path / 'train-2'}")
    (finding,) = [each for each in report.findings if each.name == "balance"]
    assert f"{tmp_path / 'train-2'} " in finding.sentence


def test_googles_records_need_no_manifest(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(NUM_RECORDS, 0), layout="reference")
    (tmp_path / "manifest.train.json").unlink()
    for path in tmp_path.glob("index.*"):
        path.unlink()
    report = check(pattern, tmp_path / "vocab.txt")
    assert report.findings == []
    assert report.max_seq_length == 40
    other = tmp_path / "other"
    other.mkdir()
    pattern = write_set(other, make_records(90, 0), layout="reference", change=every(9, forget))
    (other / "manifest.train.json").unlink()
    report = check(pattern)
    assert [(f.name, f.severity) for f in report.findings] == [("too_few", DOUBTFUL)]
    assert (
        "if masked_lm_prob is 0.15 and not of whole words (no manifest says so)"
        in report.findings[0].sentence
    )


def test_our_records_without_a_manifest_are_doubtful(tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(90, 0))
    (tmp_path / "manifest.train.json").unlink()
    report = check(pattern)
    assert [(f.name, f.severity) for f in report.findings] == [("no_manifest", DOUBTFUL)]


def test_a_manifest_is_gone_through_a_few_times_however_many_shards_it_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    basename = os.path.basename
    monkeypatch.setattr(os.path, "basename", lambda path: taken.append(path) or basename(path))
    pattern = write_set(tmp_path, make_records(90, 0), num_shards=45)
    taken.clear()
    assert check(pattern).num_records == 90
    assert 0 < len([path for path in taken if "train-0" in path]) < 20 * 45


def test_all_damage_is_found_in_one_run(tmp_path: Path) -> None:
    records = make_records(80, 0)
    pattern = write_set(tmp_path, records, num_shards=5)
    shards = [tmp_path / f"train-{i:05d}-of-00005" for i in range(5)]
    offsets = np.load(index_path(str(shards[0])))["offset"]
    data = bytearray(shards[0].read_bytes())
    for record in (3, 7):  # two records' data
        data[int(offsets[record]) + 20] ^= 1
    shards[0].write_bytes(data)
    data = bytearray(shards[1].read_bytes())
    data[int(np.load(index_path(str(shards[1])))["offset"][4])] ^= 1  # a length
    shards[1].write_bytes(data)
    shards[2].unlink()
    shards[3].write_bytes(shards[3].read_bytes()[:-10])
    index = np.load(index_path(str(shards[4])))
    index["num_tokens"][2] += 1
    np.save(index_path(str(shards[4])), index)
    report = check(pattern)
    sentences = [f.sentence for f in report.findings if f.severity == DAMAGED]
    for expected in (
        f"{shards[0]}: byte offset 0: differs from the file",
        f"{shards[0]}: record 3, byte offset {offsets[3]}: the checksum of a record's data",
        f"{shards[0]}: record 7, byte offset {offsets[7]}: the checksum of a record's data",
        f"{shards[1]}: record 4, byte offset",
        f"{shards[3]}: record 15, byte offset",
        f"{index_path(str(shards[4]))}: record 2, byte offset 24: lists a record of",
        f"{shards[2]} is not there; the manifest lists it with 16 records",
        "4 or more records are lost, in 4 places",
    ):
        assert any(sentence.startswith(expected) for sentence in sentences), expected
    assert report.num_records == 14 + 15 + 15 + 16


@pytest.mark.parametrize("what", ["manifest", "index"])
def test_files_beside_the_shards_may_be_damaged(what: str, tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(40, 0))
    path = tmp_path / "manifest.train.json"
    if what == "index":
        path = Path(index_path(str(tmp_path / "train-00001-of-00002")))
    path.write_bytes(path.read_bytes()[:-40])
    report = check(pattern)
    assert report.findings[0].name == "damage"
    assert report.findings[0].sentence.startswith(str(path))
    assert report.num_records == 40


@pytest.mark.parametrize("layout", ["ragged", "reference"])
def test_a_manifest_that_is_another_file(layout: str, tmp_path: Path) -> None:
    pattern = write_set(tmp_path, make_records(40, 0), layout=layout)
    path = tmp_path / "manifest.train.json"
    path.write_bytes((tmp_path / "train-00000-of-00002").read_bytes())
    report = check(pattern)
    assert report.findings[0].sentence.startswith(f"{path} is named like the manifest of the set")
    path.rename(tmp_path / "manifest.other.json")
    assert names(check(pattern)) == (["no_manifest"] if layout == "ragged" else [])


def test_parquet_without_its_manifest(
    tmp_path: Path, small_text: Path, small_vocabulary: Path
) -> None:
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=str(tmp_path / "set@2"),
            vocab_file=str(small_vocabulary),
            output_format="parquet",
        )
    )
    assert names(check(str(tmp_path / "set-*"))) == []
    (tmp_path / "manifest.set.json").unlink()
    assert names(check(str(tmp_path / "set-*"))) == ["no_manifest"]


def test_a_manifest_of_other_counts(tmp_path: Path) -> None:
    counts = {"text": {"num_documents": 4}, "instances": {"num_instances": 41}}
    report = check(write_set(tmp_path, make_records(40, 0), counts=counts))
    assert names(report) == ["counts"]


def test_absurd_settings_in_a_manifest(tmp_path: Path) -> None:
    flags = {"dupe_factor": "x", "masked_lm_prob": 1e300, "do_whole_word_mask": [1]}
    sizes = {"max_seq_length": 2**61, "max_predictions_per_seq": 2**61}
    pattern = write_set(
        tmp_path,
        make_records(40, 0),
        flags=flags,
        vocabulary=VocabularyNote(size=2**61, sha256=""),
        **sizes,
    )
    report = check(pattern)
    assert {"too_few", "prediction_limit"} & set(names(report))
    assert report.batchings


def test_only_a_part_of_a_set(tmp_path: Path) -> None:
    write_set(tmp_path, make_records(40, 0))
    report = check(str(tmp_path / "train-00000*"))
    assert [(f.name, f.severity) for f in report.findings] == [("unread", DOUBTFUL)]


def hashes(values: list[int]) -> np.ndarray:
    """Well spread 64-bit numbers, equal for equal values."""
    table = np.random.default_rng(1).integers(0, 2**64, 100_000, np.uint64)
    return table[values]


def add(seen: SeenRecords, shard: int, texts: list[int], instances: list[int]) -> None:
    count = len(texts)
    telling = np.ones(count, np.bool_)
    seen.add(shard, np.arange(count), hashes(texts), hashes(instances), telling)


def test_copies_and_texts_are_counted() -> None:
    seen = SeenRecords()
    add(seen, 0, [1, 2, 3, 1], [10, 20, 30, 11])
    add(seen, 1, [4, 1, 3], [40, 12, 30])
    repeats = seen.count(2)
    assert (repeats.num_compared, repeats.num_copies) == (7, 1)
    assert repeats.num_beyond == 1  # the text 1, three times
    assert repeats.example == ((0, 2), (1, 2))


def test_records_that_may_be_equal_by_chance_are_no_copies() -> None:
    seen = SeenRecords()
    seen.add(0, np.arange(2), hashes([1, 1]), hashes([2, 2]), np.zeros(2, np.bool_))
    assert seen.count(2).num_copies == 0


@pytest.mark.parametrize("order", [1, -1])
def test_a_sample_keeps_all_copies_of_a_record_or_none(order: int) -> None:
    seen = SeenRecords(capacity=500)
    values = [i // 2 for i in range(20_000)][::order]  # every record twice
    for begin in range(0, 20_000, 700):
        part = values[begin : begin + 700]
        add(seen, begin, part, part)
    repeats = seen.count(1)
    assert 100 < repeats.num_compared <= 500
    assert repeats.num_copies * 2 == repeats.num_compared
    assert repeats.num_beyond == repeats.num_copies


def test_no_records() -> None:
    assert SeenRecords().count(1).num_compared == 0
