"""Sets of partitions: each part's instances are the reference's, every record is there once, and
the files depend on nothing but the text and the settings.
"""

import collections
import dataclasses
import gzip
import hashlib
import json
from pathlib import Path

import pytest
from pyarrow import parquet as pq

from bert_data.datasets import lanes, partition_tasks, partitioned
from bert_data.datasets.budget import MemoryBudget
from bert_data.datasets.manifest import Manifest, read_manifest
from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
from bert_data.datasets.record_set import RecordSet
from bert_data.errors import CorruptDataError
from bert_data.objectives.making import InstanceConfig
from bert_data.text.documents import TextConfig
from bert_data.text.formats import find_format
from bert_data.text.partitions import plan_partitions
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.formats.tfrecords import split_records

COVERS = ("datasets/config", "datasets/gathering", "datasets/lanes", "datasets/partition_tasks")

INSTANCES = InstanceConfig(max_seq_length=40, max_predictions_per_seq=6, dupe_factor=3)
NUM_PARTITIONS = 3


@pytest.fixture
def create(small_text, small_vocabulary, tmp_path):
    """Makes a set in a new folder: create("a", "t@3", num_partitions=2) -> its folder."""

    def make(folder: str, output: str = "t@4", **options) -> Path:
        config = DatasetConfig(
            **{
                "input_file": str(small_text),
                "output_file": ",".join(str(tmp_path / folder / o) for o in output.split(",")),
                "vocab_file": str(small_vocabulary),
                "instances": INSTANCES,
                "num_workers": 1,
                "num_partitions": NUM_PARTITIONS,
                **options,
            }
        )
        create_dataset(config)
        return tmp_path / folder

    return make


def contents(folder: Path) -> dict[str, bytes]:
    """All files, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def records(folder: Path) -> list[bytes]:
    """All records, shard by shard: Examples, or rows of Parquet as text."""
    payloads = []
    for path in sorted(folder.glob("t*")):
        data = path.read_bytes()
        if data.startswith(b"PAR1"):
            payloads += [repr(row).encode() for row in pq.read_table(path).to_pylist()]
        else:
            plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            payloads += [record for _, record in split_records(plain)]
    return payloads


def seed_of(partition: int) -> int:
    """As --help documents it."""
    digest = hashlib.sha256(f"{INSTANCES.random_seed}/{partition}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def texts_of_parts(text: Path, folder: Path) -> list[Path]:
    """Files with the text of each part, cut as by tokenize --partitions."""
    paths = []
    for number, spans in enumerate(
        plan_partitions([str(text)], find_format([str(text)]), NUM_PARTITIONS)
    ):
        paths.append(folder / f"part{number}.txt")
        data = text.read_bytes()
        paths[-1].write_bytes(b"".join(data[span.start : span.end] for span in spans))
    assert b"".join(path.read_bytes() for path in paths) == text.read_bytes()
    return paths


@pytest.mark.parametrize(
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
    expected = collections.Counter()
    for number, path in enumerate(texts_of_parts(small_text, tmp_path)):
        part = create(
            f"part{number}",
            input_file=str(path),
            instances=dataclasses.replace(config, random_seed=seed_of(number)),
            num_partitions=0,
            **options,
        )
        expected.update(records(part))
    all_records = records(create("all", instances=config, **options))
    assert collections.Counter(all_records) == expected
    # They are shuffled, and dealt as evenly as the one stream's.
    sizes = [file.num_records for file in manifest_of(tmp_path / "all").files]
    assert sizes == [len(range(shard, len(all_records), 4)) for shard in range(4)]


def manifest_of(folder: Path):
    return read_manifest(str(folder / "manifest.t.json"))


def test_the_manifest_says_how_it_was_made(create, tmp_path):
    create("all", "t@2")
    create("one", "t@2", num_partitions=0)
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


def test_the_first_records_are_returned(small_text, small_vocabulary, tmp_path):
    config = DatasetConfig(
        input_file=str(small_text),
        output_file=f"{tmp_path}/t@2",
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
    assert [stage.name for stage in dataset.stages] == ["make instances", "write records"]


@pytest.fixture
def small_pieces(monkeypatch):
    """Sets how little is in memory at a time."""

    def reduce(max_bytes: int, deck_rows: int = 50) -> None:
        shares = MemoryBudget(num_workers=1, max_store_bytes=max_bytes, max_rows_bytes=max_bytes)
        monkeypatch.setattr(partition_tasks, "share_memory", lambda *_, **__: shares)
        monkeypatch.setattr(lanes, "deck_size", lambda num_words: deck_rows)
        monkeypatch.setattr(lanes, "_COPIED_ROWS", 13)

    return reduce


@pytest.mark.parametrize("output_format", ["tfrecord", "parquet"])
def test_the_files_do_not_depend_on_memory(create, small_pieces, monkeypatch, output_format):
    monkeypatch.setattr(DatasetConfig, "chunk_size", 7)
    small_pieces(1 << 20)
    expected = contents(create("plain", output_format=output_format))
    for number, max_bytes in enumerate((3000, 10_000)):  # several segments, and groups of lanes
        small_pieces(max_bytes)
        files = contents(create(f"small{number}", output_format=output_format))
        assert files == expected


def test_more_than_fits_is_refused_and_goes_on_with_more_memory(create, small_pieces, tmp_path):
    expected = contents(create("plain"))
    none = MemoryBudget(num_workers=1, max_store_bytes=1, max_rows_bytes=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_tasks.SetWork, "share_memory", lambda *_: none)
        with pytest.raises(ValueError, match=r"needs more shards, or --max_memory_mb: .* at once"):
            create("small")
    (work,) = (tmp_path / "small/.t.partitions").iterdir()
    dealt = {path: path.stat().st_mtime_ns for path in (work / "deal").rglob("*")}
    assert len(list((work / "deal").iterdir())) == NUM_PARTITIONS and dealt
    assert contents(create("small")) == expected


@pytest.mark.process
def test_the_files_do_not_depend_on_the_number_of_workers(create):
    for options in ({}, {"output": "t", "output_format": "parquet"}):
        expected = contents(create("one", overwrite=True, **options))
        assert expected == contents(create("two", overwrite=True, num_workers=2, **options))


@pytest.mark.parametrize("module", ["deal_partition", "gather_shard"])
def test_a_run_that_fails_goes_on_with_what_is_missing(create, monkeypatch, module):
    expected = contents(create("plain"))
    function, calls = getattr(partitioned, module), []

    def fail_once(*arguments):
        calls.append(arguments[-2].number)
        if len(calls) == 2:
            raise OSError("the disk is gone")
        return function(*arguments)

    monkeypatch.setattr(partitioned, module, fail_once)
    with pytest.raises(OSError, match="the disk is gone"):
        create("failing")
    assert contents(create("failing")) == expected
    assert calls[:3] == [0, 1, 1] and calls.count(0) == 1


@pytest.mark.parametrize("name", ["rows", "tokens", "index"])
def test_a_damaged_partition_is_noticed_and_made_again(create, monkeypatch, tmp_path, name):
    """Rows and tokens are checked when they are read, and not before; the index at the start."""
    expected = contents(create("plain"))
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(partitioned, "gather_shard", _fail)
        create("killed")
    (path,) = (tmp_path / "killed").glob(f".t.partitions/*/deal/00001/{name}")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    if name != "index":
        with pytest.raises(CorruptDataError, match=rf"00001/{name}: byte offset \d+: not what the"):
            create("killed")
        assert not list((tmp_path / "killed").glob("[!.]*"))
    deal, dealt = partitioned.deal_partition, []
    monkeypatch.setattr(
        partitioned, "deal_partition", lambda *given: dealt.append(given[1].number) or deal(*given)
    )
    assert contents(create("killed")) == expected
    assert dealt == [1]


def test_a_damaged_shard_is_made_again(create, monkeypatch, tmp_path):
    expected = contents(create("plain"))
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(RecordSet, "link_shard", _fail)
        create("killed")
    for path in (tmp_path / "killed").glob(".t.partitions/*/write/*/t*-of-*"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
    assert contents(create("killed")) == expected


@pytest.mark.parametrize(
    "change", [{"num_partitions": 2}, {"instances": InstanceConfig(dupe_factor=1)}]
)
def test_other_settings_do_not_go_on_with_unfinished_work(create, monkeypatch, change):
    expected = contents(create("plain", **change))
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(partitioned, "gather_shard", _fail)
        create("changed")
    assert contents(create("changed", **change)) == expected


def _fail(*_):
    raise KeyError("x")


def test_shards_in_several_folders(create, tmp_path):
    plain = contents(create("a", "t@2"))
    files = contents(create("b", "x/t-00000-of-00002,y/t-00001-of-00002"))
    assert files["x/t-00000-of-00002"] == plain["t-00000-of-00002"]
    assert files["y/t-00001-of-00002"] == plain["t-00001-of-00002"]


class TestParts:
    def test_as_many_as_documents_can_be_cut(self, create, small_text):
        with pytest.raises(ValueError, match=r"^99 partitions are requested, but the 1 file"):
            create("a", num_partitions=99)
        with pytest.raises(ValueError, match=r"^num_partitions is -1; 0 to 99,999 is allowed"):
            create("a", num_partitions=-1)

    def test_one_is_the_reference_with_its_seed(self, create):
        instances = dataclasses.replace(INSTANCES, random_seed=seed_of(0))
        one = create("one", num_partitions=0, instances=instances)
        assert sorted(records(one)) == sorted(records(create("a", num_partitions=1)))

    def test_without_a_sentence_have_no_instance(self, create, tmp_path):
        rows = ["x" * 500, *[""] * 5, "One sentence. And another one."]
        rows = [{"text": text} if text else {"no": "x" * 400} for text in rows]
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        options = {"input_file": str(tmp_path / "t.jsonl"), "text": TextConfig(on_error="skip")}
        folder = create("a", num_partitions=5, **options)
        assert manifest_of(folder).counts["text"]["num_skipped"] == 5
        assert len(records(folder)) > 0

    def test_all_without_a_sentence_are_refused(self, create, tmp_path):
        (tmp_path / "t.jsonl").write_text('{"no": 1}\n' * 9)
        with pytest.raises(ValueError, match=r"^no sentence in the text of 1 file"):
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

    def test_of_the_same_number_give_the_files_of_the_text(self, create, stores):
        expected = contents(create("text"))
        names = (f"{stores}@3", f"{stores}-*", f"{stores}*.bin", f"{stores}-*-of-00003.idx")
        for number, name in enumerate(names):
            files = contents(create(f"stores{number}", input_file=name))
            assert {k: v for k, v in files.items() if "manifest" not in k} == {
                k: v for k, v in expected.items() if "manifest" not in k
            }

    @pytest.mark.parametrize("num_partitions", [0, 1, 2, 7])
    def test_of_another_number_are_cut_at_documents(self, create, stores, num_partitions):
        one = create("one", num_partitions=0)
        dataset = create("stores", input_file=f"{stores}@3", num_partitions=num_partitions)
        texts = [manifest_of(folder).counts["text"] for folder in (one, dataset)]
        for name in ("num_documents", "num_sentences", "num_tokens", "num_unknown"):
            assert texts[0][name] == texts[1][name]
        if not num_partitions:
            assert records(one) == records(dataset)

    def test_of_fewer_documents_than_partitions(self, create, stores):
        with pytest.raises(ValueError, match=r"^50 partitions .* the 3 token store"):
            create("a", input_file=f"{stores}@3", num_partitions=50)

    def test_one_of_them_is_missing(self, create, stores):
        Path(f"{stores}-00001-of-00003.bin").unlink()
        with pytest.raises(FileNotFoundError, match=r"a token store is a \.bin and an"):
            create("a", input_file=f"{stores}@3")


def test_a_run_that_ended_after_its_commit_knows_its_set(create, monkeypatch):
    def commit_and_end(record_set: RecordSet, manifest: Manifest) -> None:
        commit(record_set, manifest)
        raise KeyboardInterrupt

    commit, expected = RecordSet.commit, contents(create("plain", "t@2"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RecordSet, "commit", commit_and_end)
        create("ended", "t@2")
    with pytest.raises(FileExistsError):
        create("ended", "t@2", num_partitions=2)
    assert contents(create("ended", "t@2")) == expected


def test_a_remote_set_goes_on_with_what_is_missing(create, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    expected = contents(create("plain", "t@2"))
    output = {"output_file": f"file://{tmp_path}/remote/t@2"}
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(partitioned, "gather_shard", _fail)
        create("remote", **output)
    with monkeypatch.context() as patch:
        patch.setattr(partitioned, "deal_partition", _fail)
        create("remote", **output)
    assert contents(tmp_path / "remote") == expected
    assert not contents(tmp_path / "temporary")


def test_work_in_an_object_store_goes_on_with_what_is_missing(create, each_store, monkeypatch):
    expected = contents(create("plain", "t@2"))
    work = {"work_dir": each_store.uri("work")}
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(partitioned, "gather_shard", _fail)
        create("killed", "t@2", **work)
    assert any(key.endswith("sums.json") for key in each_store.keys("work/"))
    with monkeypatch.context() as patch:
        patch.setattr(partitioned, "deal_partition", _fail)
        assert contents(create("killed", "t@2", **work)) == expected
    assert not any(each_store.contents("work/").values())  # folders' markers at most
