"""A manifest comes back as it went, is found beside its shards, and is refused when damaged."""

import dataclasses
import json

import pytest

from bert_data.errors import CorruptDataError
from bert_data.records.sets.manifest import Manifest, ManifestFile, find_manifest, read_manifest
from bert_data.tokens.vocabulary import VocabularyNote

MANIFEST = Manifest(
    record_layout="ragged",
    compression="gzip",
    max_seq_length=128,
    max_predictions_per_seq=20,
    random_seed=-(2**80),
    vocabulary=VocabularyNote(size=30_522, sha256="ab" * 32),
    flags={"do_lower_case": True, "masked_lm_prob": 0.1},
    counts={"text": {"num_documents": 7}, "instances": {"num_instances": 9}},
    files=(
        ManifestFile(name="t-00000-of-00002", num_records=5, num_bytes=700, crc32c=2**32 - 1),
        ManifestFile(name="t-00001-of-00002", num_records=4, num_bytes=600, crc32c=0),
    ),
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "manifest.t.json"
    path.write_text(MANIFEST.to_json())
    return path


def test_it_comes_back_as_it_went(path):
    assert read_manifest(str(path)) == MANIFEST


def test_its_json_is_the_format(path):
    data = json.loads(path.read_text())
    assert list(data) == [
        "format", "format_version", "created_by", "output_format", "record_layout", "compression",
        "max_seq_length", "max_predictions_per_seq", "random_seed", "vocabulary", "flags", "counts",
        "files",
    ]  # fmt: skip
    assert (data["format"], data["format_version"]) == ("bert_data records", 1)
    assert data["vocabulary"] == {"size": 30_522, "sha256": "ab" * 32}
    assert data["files"][1] == {
        "name": "t-00001-of-00002", "num_records": 4, "num_bytes": 600, "crc32c": 0,
    }  # fmt: skip
    assert path.read_bytes().endswith(b"}\n")


def changed(**values: object) -> bytes:
    data = json.loads(MANIFEST.to_json())
    for key, value in values.items():
        if value is None:
            del data[key]
        else:
            data[key] = value
    return json.dumps(data).encode()


FILE = dataclasses.asdict(MANIFEST.files[0])
WHOLE = MANIFEST.to_json().encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "byte offset 0: not JSON"),
        (WHOLE[:-3], "not JSON"),
        (WHOLE[:300], "not JSON"),
        (b"\xff" + WHOLE, "byte offset 0: not JSON, as it is not UTF-8"),
        (b"[]", "its content is \\[\\]; it must be an object"),
        (b"7", "its content is 7; it must be an object"),
        (b"{}", "format is missing"),
        (changed(format="something else"), "'something else' version 1; 'bert_data records'"),
        (changed(format_version=3), "'bert_data records' version 3; .* version 1 or 2 can be read"),
        (changed(vocabulary=None), "vocabulary is missing"),
        (changed(vocabulary=3), "vocabulary is 3; it must be an object"),
        (changed(files=[{"name": "t"}]), r"files\[0\].num_records is missing"),
        (changed(files=3), "files is 3; it must be a list"),
        (changed(files=[FILE | {"name": "../t"}]), "'../t' is not the name of a file beside it"),
        (changed(files=[FILE | {"name": "/etc/t"}]), "'/etc/t' is not the name of a file"),
        (changed(files=[FILE | {"name": 7}]), r"files\[0\].name is 7; it must be a string"),
        (changed(max_seq_length="128"), "max_seq_length is '128'; it must be an integer"),
        (changed(max_seq_length=2**63), "max_seq_length is 9223372036854775808; 0 to"),
        (changed(max_seq_length=True), "max_seq_length is True; it must be an integer"),
        (changed(vocabulary={"size": 1.5, "sha256": ""}), "vocabulary.size is 1.5; it must be"),
        (changed(flags=[]), r"flags is \[\]; it must be an object"),
        (changed(flags={"masked_lm_prob": "x"}), "flags.masked_lm_prob is 'x'; it must be"),
        (changed(counts={"text": 7}), "counts.* is an integer; it must be an object"),
        (changed(record_layout="labelled"), "flags.* is missing"),
        (b"[" * 200_000, "JSON that is nested too deep"),
        (b'{"format": ' + b"9" * 6_000 + b"}", "JSON that cannot be read .*4300"),
        (b'{"format": 1, "format": 2}', "the key 'format' appears twice in an object"),
        (changed(record_layout="square"), "unknown output_format, record_layout, compression"),
        (changed(compression="lzma"), "unknown output_format, record_layout, compression"),
        (changed(output_format="orc"), "unknown output_format"),
        (changed(flags={"next_sentence": "nxt"}), "compression, next_sentence or masking"),
        (changed(flags={"masking": "words"}), "compression, next_sentence or masking"),
    ],
)
def test_damage_is_told(path, content, reason):
    path.write_bytes(content)
    with pytest.raises(CorruptDataError, match=reason) as caught:
        read_manifest(str(path))
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)


def test_it_is_found_beside_a_shard_that_it_lists(path, tmp_path, monkeypatch):
    other = dataclasses.replace(MANIFEST, files=(dataclasses.replace(MANIFEST.files[0], name="u"),))
    (tmp_path / "manifest.a.json").write_text(other.to_json())
    assert find_manifest(str(tmp_path / "t-00001-of-00002")) == MANIFEST
    assert find_manifest(str(tmp_path / "u")) == other
    assert find_manifest(str(tmp_path / "t")) is None
    assert find_manifest(str(tmp_path / "none" / "t-00001-of-00002")) is None
    monkeypatch.chdir(tmp_path)
    assert find_manifest("t-00000-of-00002") == MANIFEST


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path):
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    (folder / "manifest.t.json").write_text(MANIFEST.to_json())
    assert find_manifest(str(folder / "t-00000-of-00002")) == MANIFEST


@pytest.mark.parametrize("text", ["{}", "[1, 2]", "no JSON", ""])
def test_other_programs_files_of_such_names_are_passed_by(tmp_path, path, text):
    (tmp_path / "manifest.a.json").write_text(text)
    assert find_manifest(str(tmp_path / "t-00001-of-00002")) == MANIFEST


def test_a_damaged_one_of_ours_is_told(tmp_path, path):
    path.write_text(MANIFEST.to_json()[:200])
    with pytest.raises(CorruptDataError, match="not JSON"):
        find_manifest(str(tmp_path / "t-00001-of-00002"))
