"""create_pretraining_data.py as a user runs it: Google's records, the same bytes."""

import json
from pathlib import Path

import pytest

from bert_data.records.sets.manifest import read_manifest
from tests.goldens.reading import digest_of_records
from tests.program_folder import Folder, contents
from tests.records.formats.tfrecords import split_records

pytestmark = pytest.mark.process

SLOW_CASES = ("movies_512", "movies_dupe10", "udhr_cased", "wikitext_defaults", "wikitext_wwm")


@pytest.fixture
def folder(tmp_path, checkout, small_text, small_vocabulary, programs) -> Folder:
    return Folder(tmp_path, checkout, small_text, small_vocabulary, programs)


def golden_cases() -> list[object]:
    """The names of the goldens' cases, as far as a test has to know them before it runs."""
    path = Path(__file__).resolve().parents[2] / "shared/goldens/create_pretraining_data.json"
    if not path.is_file():
        return [
            pytest.param("", marks=pytest.mark.skip(reason="needs ../shared, which is not here"))
        ]
    names = json.loads(path.read_text())["cases"]
    slow = [pytest.mark.slow]
    return [pytest.param(name, marks=slow if name in SLOW_CASES else []) for name in names]


@pytest.mark.parametrize("case", golden_cases())
def test_googles_records_in_googles_order(shared, folder, case):
    golden = json.loads((shared / "goldens/create_pretraining_data.json").read_text())["cases"][
        case
    ]
    flags = {
        **dict.fromkeys(folder.flags),  # that program's defaults
        "input_file": ",".join(str(shared / name) for name in golden["input"]),
        "vocab_file": shared / golden["vocab"],
        "output_file": ",".join(f"out{i}" for i in range(golden["num_outputs"])),
        "record_layout": "reference",
        **golden["flags"],
    }
    if "error" in golden:
        assert "not UTF-8" in folder.fail(**flags)
        return
    files = folder.make(**flags)
    for number, expected in enumerate(golden["records"]):
        data = files[f"out{number}"]
        assert data is not None
        assert digest_of_records(data) == expected


class TestTheSameBytes:
    def test_for_little_memory(self, folder):
        """So many predictions that the instances do not fit: they go through buckets on disk."""
        long = {
            "max_seq_length": 4096, "max_predictions_per_seq": 4096, "masked_lm_prob": 1,
            "dupe_factor": 50, "num_workers": 2,
        }  # fmt: skip
        much = folder.make(output_file="much/out@3", max_memory_mb=1000, **long)
        little = folder.make(output_file="little/out@3", max_memory_mb=300, work_dir="work", **long)
        rows = json.loads(much["manifest.out.json"])["counts"]["instances"]["num_instances"] * 4096
        assert rows > 6_000_000  # more than may be in memory
        assert little == much
        assert contents(folder.path / "work") == {}


class TestOutputs:
    def test_a_list_gets_records_in_turn(self, folder):
        one = split_records(folder.make(output_file="one/out")["out"] or b"")
        files = folder.make(output_file="two/a,two/b")
        assert set(files) == {"a", "b", "index.a.npy", "index.b.npy", "manifest.a.json"}
        for number, name in enumerate("ab"):
            records = [record for _, record in split_records(files[name] or b"")]
            assert records == [record for _, record in one[number::2]]

    def test_shards_have_the_names_of_path_at_n(self, folder):
        files = folder.make(output_file="d/out@2")
        shards = [f"out-{i:05d}-of-00002" for i in range(2)]
        indexes = (f"index.{shard}.npy" for shard in shards)
        assert set(files) == {*shards, *indexes, "manifest.out.json"}
        manifest = read_manifest(str(folder.path / "d/manifest.out.json"))
        assert [file.name for file in manifest.files] == shards
        assert manifest.max_seq_length == 32
        assert manifest.flags["dupe_factor"] == 2

    def test_the_log_says_what_was_made(self, folder):
        done = folder.run(num_examples=2)
        assert done.stdout == ""
        assert done.stderr.count("tokens: [CLS]") == 2
        for word in ("documents", "sentences", "[UNK]", "padding", "next sentence", "MB/s"):
            assert word in done.stderr
        assert done.stderr.index("wrote  ") < done.stderr.index("\nexamples ")
