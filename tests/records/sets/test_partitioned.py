"""Sets of partitions: each part's instances are the reference's, every record is there once, and
the files depend on nothing but the text and the settings.
"""

import collections
import dataclasses
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet as pq

from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets import corpus, partitioned
from bert_data.records.sets.config import MemoryBudget
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import read_manifest
from bert_data.records.sets.partitioned import deal_blocks
from bert_data.records.sets.record_set import RecordSet
from bert_data.text.formats import find_text_format
from bert_data.text.partitions import plan_blocks
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.program_folder import contents
from tests.records.formats.tfrecords import records_of_shards
from tests.rows import mostly_slow

INSTANCES = InstanceConfig(max_seq_length=40, max_predictions_per_seq=6, dupe_factor=3)
NUM_PARTITIONS = 3


@pytest.fixture
def create(create_set):
    """Makes a set in a new folder: create("a", "t@3", num_partitions=2) -> its folder."""
    options = {"instances": INSTANCES, "num_partitions": NUM_PARTITIONS}

    def make(folder: str, output: str = "t@4", **changes) -> Path:
        return create_set(folder, output, **{**options, **changes})

    return make


def _fail(*_):
    raise KeyError("x")


def end_when_partitions_are_made(run: Callable[[], object]) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(RecordSet, "link_shard", _fail)
        run()


def records(folder: Path) -> list[bytes]:
    return [record for shard in records_of_shards(folder) for record in shard]


def seed_of(partition: int) -> int:
    """As --help documents it."""
    digest = hashlib.sha256(f"{INSTANCES.random_seed}/{partition}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def texts_of_parts(text: Path, folder: Path, num_shards: int) -> list[Path]:
    """Files with the text of each part: blocks of it, dealt to the parts."""
    data = text.read_bytes()
    blocks = plan_blocks([str(text)], find_text_format([str(text)]), 16 * NUM_PARTITIONS)
    texts = [b"".join(data[span.start : span.end] for span in spans) for spans, _ in blocks]
    assert b"".join(texts) == data and len(texts) > 3 * NUM_PARTITIONS
    shares = [len(range(number, num_shards, NUM_PARTITIONS)) for number in range(NUM_PARTITIONS)]
    dealt = deal_blocks([size for _, size in blocks], shares, INSTANCES.random_seed)
    assert sorted(block for own in dealt for block in own) == [*range(len(texts))]
    paths = [folder / f"part{number}.txt" for number in range(NUM_PARTITIONS)]
    for path, own in zip(paths, dealt, strict=True):
        path.write_bytes(b"".join(texts[block] for block in own))
    return paths


@mostly_slow(
    ("options", "instances"),
    [
        ({}, {}),
        ({"record_layout": "reference"}, {"do_whole_word_mask": True}),
        ({"output_format": "parquet"}, {"next_sentence": "sop"}),
        ({"compression": "gzip"}, {"next_sentence": "none", "random_seed": 12345}),
        ({}, {"next_sentence": "sop", "do_whole_word_mask": True, "masked_lm_prob": 0.3}),
        ({"record_layout": "reference"}, {"next_sentence": "none", "short_seq_prob": 0.5}),
    ],
)
def test_the_records_are_the_references_part_by_part(
    create, small_text, tmp_path, options, instances
):
    config = dataclasses.replace(INSTANCES, **instances)
    all_records = records_of_shards(create("all", instances=config, **options))
    for number, path in enumerate(texts_of_parts(small_text, tmp_path, num_shards=4)):
        own = all_records[number::NUM_PARTITIONS]
        part = create(
            f"part{number}",
            f"t@{len(own)}",
            input_file=str(path),
            instances=dataclasses.replace(config, random_seed=seed_of(number)),
            num_partitions=0,
            **options,
        )
        assert records_of_shards(part) == own


def manifest_of(folder: Path):
    return read_manifest(str(folder / "manifest.t.json"))


def test_the_manifest_says_how_it_was_made(create, tmp_path):
    create("all")
    create("one", num_partitions=0)
    manifest, one = manifest_of(tmp_path / "all"), manifest_of(tmp_path / "one")
    assert manifest.flags == {**one.flags, "num_partitions": NUM_PARTITIONS}
    assert manifest.counts["text"] == one.counts["text"]
    assert manifest.random_seed == one.random_seed == INSTANCES.random_seed
    num_records = manifest.counts["instances"]["num_instances"]
    assert (
        num_records
        == sum(file.num_records for file in manifest.files)
        == len(records(tmp_path / "all"))
    )


@pytest.mark.parametrize("output_format", ["tfrecord", "parquet"])
@pytest.mark.parametrize("num_partitions", [0, 2])
def test_inputs_without_a_document_are_named(
    create, small_text, tmp_path, caplog, output_format, num_partitions
):
    (tmp_path / "b.txt").touch()
    (tmp_path / "c.txt").write_text(" \n" * 9000)  # which is cut
    options = {"num_partitions": num_partitions, "output_format": output_format}
    plain = create("plain", **options)
    assert manifest_of(plain).empty_inputs == () and "gave no" not in caplog.text
    assert "empty_inputs" not in (plain / "manifest.t.json").read_text()
    (tmp_path / "c\udcff.txt").touch()
    names = [str(tmp_path / name) for name in ("b.txt", "c.txt", "c\udcff.txt")]
    folder = create("a", input_file=",".join([str(small_text), *names]), **options)
    said = ", ".join(names).replace("\udcff", "?")
    assert f"3 of 4 files gave no document: {said}" in caplog.text
    assert [each.rsplit("/", 1)[-1] for each in manifest_of(folder).empty_inputs] == [
        "b.txt",
        "c.txt",
        "c?.txt",
    ]
    if not num_partitions and output_format == "tfrecord":  # Parquet has counts of lines, too
        for path in plain.glob("t-*"):
            assert path.read_bytes() == (folder / path.name).read_bytes()


def test_the_first_records_are_returned(small_text, small_vocabulary, tmp_path):
    config = DatasetConfig(
        input_file=str(small_text),
        output_file=f"{tmp_path}/t@3",
        vocab_file=str(small_vocabulary),
        instances=INSTANCES,
        num_workers=1,
        num_partitions=NUM_PARTITIONS,
        num_examples=5,
        output_format="parquet",
    )
    dataset = create_dataset(config)
    rows = pq.read_table(dataset.paths[0]).to_pylist()[:5]
    assert [list(example.ids) for example in dataset.examples] == [row["tokens"] for row in rows]
    assert [stage.name for stage in dataset.stages] == ["make partitions"]


@mostly_slow("output_format", ["tfrecord", "parquet"])
def test_the_files_do_not_depend_on_memory(create, monkeypatch, output_format):
    monkeypatch.setattr(DatasetConfig, "chunk_size", 7)
    expected = contents(create("plain", output_format=output_format))
    for number, max_bytes in enumerate((3000, 10_000)):
        shares = MemoryBudget(num_workers=1, max_store_bytes=max_bytes, max_rows_bytes=max_bytes)
        monkeypatch.setattr(
            partitioned, "share_stream_memory", lambda *_, shares=shares: (shares, 1)
        )
        assert contents(create(f"small{number}", output_format=output_format)) == expected


@pytest.mark.process
def test_the_files_do_not_depend_on_the_number_of_workers(create):
    for options in ({}, {"output": "t@3", "output_format": "parquet"}):
        expected = contents(create("one", overwrite=True, **options))
        assert expected == contents(create("two", overwrite=True, num_workers=2, **options))


def test_a_run_that_fails_goes_on_with_what_is_missing(create, monkeypatch):
    expected = contents(create("plain"))
    make, calls = partitioned.make_partition, []

    def fail_once(*arguments):
        calls.append(arguments[1].number)
        if len(calls) == 2:
            raise OSError("the disk is gone")
        return make(*arguments)

    monkeypatch.setattr(partitioned, "make_partition", fail_once)
    with pytest.raises(OSError, match="the disk is gone"):
        create("failing")
    assert contents(create("failing")) == expected
    assert calls == [0, 1, 1, 2]


def test_damaged_shards_are_made_again(create, monkeypatch, tmp_path):
    expected = contents(create("plain"))
    end_when_partitions_are_made(lambda: create("killed"))
    for path in (tmp_path / "killed").glob(".t.partitions/*/make/0000[12]/*/*t-*"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
    make, made = partitioned.make_partition, []
    monkeypatch.setattr(
        partitioned, "make_partition", lambda *given: made.append(given[1].number) or make(*given)
    )
    assert contents(create("killed")) == expected
    assert made == [1, 2]


@pytest.mark.parametrize(
    "change", [{"num_partitions": 2}, {"instances": InstanceConfig(dupe_factor=1)}]
)
def test_other_settings_do_not_go_on_with_unfinished_work(create, change):
    expected = contents(create("plain", **change))
    end_when_partitions_are_made(lambda: create("changed"))
    assert contents(create("changed", **change)) == expected


def test_shards_in_several_folders(create, tmp_path):
    plain = contents(create("a", "t@2", num_partitions=1))
    files = contents(create("b", "x/t,y/t", num_partitions=1))
    assert files["x/t"] == plain["t-00000-of-00002"]
    assert files["y/t"] == plain["t-00001-of-00002"]


class TestParts:
    def test_as_many_as_documents_can_be_cut(self, create, small_text):
        with pytest.raises(ValueError, match=r"^99 partitions are requested, but the 1 file"):
            create("a", "t@99", num_partitions=99)

    def test_one_is_the_reference_with_its_seed(self, create):
        instances = dataclasses.replace(INSTANCES, random_seed=seed_of(0))
        one = create("one", num_partitions=0, instances=instances)
        assert sorted(records(one)) == sorted(records(create("a", num_partitions=1)))

    def test_without_a_sentence_have_no_instance(self, create, tmp_path):
        rows = ["x" * 500, *[""] * 5, "One sentence. And another one."]
        rows = [{"text": text} if text else {"no": "x" * 400} for text in rows]
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        options = {"input_file": str(tmp_path / "t.jsonl"), "text": TextConfig(on_error="skip")}
        folder = create("a", "t@5", num_partitions=5, **options)
        assert manifest_of(folder).counts["text"]["num_skipped"] == 5
        assert len(records(folder)) > 0

    def test_all_without_a_sentence_are_refused(self, create, tmp_path):
        (tmp_path / "t.jsonl").write_text('{"no": 1}\n' * 9)
        with pytest.raises(ValueError, match=r"^no sentences in "):
            create("a", input_file=str(tmp_path / "t.jsonl"), text=TextConfig(on_error="skip"))
        assert not contents(tmp_path / "a") if (tmp_path / "a").exists() else True

    def test_of_a_single_document_are_told_of(self, create, tmp_path, caplog):
        (tmp_path / "two.txt").write_text("one two\nthree\n\nfour\nfive six\n")
        create("a", input_file=str(tmp_path / "two.txt"), num_partitions=2)
        assert "2 of the 2 partitions have a single document" in caplog.text


class TestStores:
    @pytest.fixture
    def stores(self, small_text, small_vocabulary, tmp_path) -> str:
        config = StoreConfig(
            input_file=str(small_text),
            output_prefix=f"{tmp_path}/parts/web",
            vocab_file=str(small_vocabulary),
            level="sentence",
            num_partitions=NUM_PARTITIONS,
        )
        make_stores(config)
        return config.output_prefix

    def test_their_files_may_be_named_in_any_way(self, create, stores):
        names = (f"{stores}@3", f"{stores}-*", f"{stores}*.bin", f"{stores}-*-of-00003.idx")
        folders = [create(f"stores{n}", input_file=name) for n, name in enumerate(names)]
        assert all(contents(folder) == contents(folders[0]) for folder in folders)

    @pytest.mark.parametrize("num_partitions", [0, 2, 7])
    def test_are_cut_at_documents(self, create, stores, num_partitions):
        one = create("one", "t@7", num_partitions=0)
        dataset = create("stores", "t@7", input_file=f"{stores}@3", num_partitions=num_partitions)
        texts = [manifest_of(folder).counts["text"] for folder in (one, dataset)]
        for name in ("num_documents", "num_sentences", "num_tokens", "num_unknown"):
            assert texts[0][name] == texts[1][name]
        if not num_partitions:
            assert records(one) == records(dataset)

    def test_of_fewer_documents_than_partitions(self, create, stores):
        with pytest.raises(ValueError, match=r"^50 partitions .* the 3 token store"):
            create("a", "t@50", input_file=f"{stores}@3", num_partitions=50)

    def test_one_of_them_is_missing(self, create, stores):
        Path(f"{stores}-00001-of-00003.bin").unlink()
        with pytest.raises(FileNotFoundError, match=r"a token store is a \.bin and an"):
            create("a", input_file=f"{stores}@3")


def test_a_run_that_ended_after_its_commit_knows_its_set(create, monkeypatch):
    def commit_and_end(*args: object, **options: object) -> None:
        commit(*args, **options)
        raise KeyboardInterrupt

    commit, expected = RecordSet.commit, contents(create("plain"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RecordSet, "commit", commit_and_end)
        create("ended")
    with pytest.raises(FileExistsError):
        create("ended", num_partitions=2)
    assert contents(create("ended")) == expected


def test_a_remote_set_goes_on_with_what_is_missing(create, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    expected = contents(create("plain", "t@3"))
    output = {"output_file": f"file://{tmp_path}/remote/t@3"}
    end_when_partitions_are_made(lambda: create("remote", **output))
    with monkeypatch.context() as patch:
        patch.setattr(partitioned, "make_partition", _fail)
        create("remote", **output)
    assert contents(tmp_path / "remote") == expected
    assert not contents(tmp_path / "temporary")


def test_work_in_an_object_store_goes_on_with_what_is_missing(create, object_store, monkeypatch):
    expected = contents(create("plain", "t@3"))
    work = {"work_dir": object_store.uri("work")}
    end_when_partitions_are_made(lambda: create("killed", "t@3", **work))
    assert any(key.endswith("/task") for key in object_store.keys("work/"))
    with monkeypatch.context() as patch:
        patch.setattr(partitioned, "make_partition", _fail)
        assert contents(create("killed", "t@3", **work)) == expected
    assert not any(object_store.contents("work/").values())  # folders' markers at most


def test_a_file_for_each_partition_at_least(create):
    sentence = "^num_partitions is 3, but the files of `output_file` are 2; each partition writes"
    with pytest.raises(ValueError, match=sentence):
        create("a", "t@2")


@pytest.mark.slow
def test_each_shard_is_a_sample_of_all_text(create, small_vocabulary, monkeypatch, tmp_path):
    """Of ten topics, one after the other in the text, each shard has its share of each."""
    monkeypatch.setattr(corpus, "TEXT_BLOCK_BYTES", 20)
    topics = [word for word in small_vocabulary.read_text().split() if word.isalpha()][-10:]
    documents = [f"{topic} {topic}\n{topic}\n\n" for topic in topics for _ in range(400)]
    (tmp_path / "topics.txt").write_text("".join(documents))
    instances = InstanceConfig(max_seq_length=8, max_predictions_per_seq=0, dupe_factor=1)
    folder = create(
        "a",
        "t@5",
        input_file=str(tmp_path / "topics.txt"),
        instances=instances,
        output_format="parquet",
        num_partitions=2,
    )
    sizes = [file.num_records for file in manifest_of(folder).files]
    assert max(sizes) < 1.1 * min(sizes)
    for path in folder.glob("t-*"):
        rows = pq.read_table(path).to_pylist()
        counts = collections.Counter(row["tokens"][1] for row in rows)
        assert len(counts) == len(topics)
        assert all(0.06 < count / len(rows) < 0.14 for count in counts.values())
        half = collections.Counter(row["tokens"][1] for row in rows[: len(rows) // 2])
        assert all(0.05 < count / sum(half.values()) < 0.15 for count in half.values())


def test_blocks_of_compressed_files_are_whole_files(create, small_text, tmp_path):
    packed = gzip.compress(small_text.read_bytes(), mtime=0)
    paths = [tmp_path / f"{number}.txt.gz" for number in range(3)]
    for path in paths:
        path.write_bytes(packed)
    options = {"input_file": ",".join(map(str, paths)), "num_examples": 0}
    shards = records_of_shards(create("a", "t@3", **options))
    assert min(map(len, shards)) > 0.9 * max(map(len, shards))
    with pytest.raises(ValueError, match=r"^4 partitions .* 3 files, .* cut into 3 at"):
        create("b", num_partitions=4, **options)
