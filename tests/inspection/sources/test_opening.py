"""The kind of files is found out; names of sets, manifests and stores are understood."""

import os
from pathlib import Path

import pytest

from bert_data.inspection.configs import SourceConfig
from bert_data.inspection.sources.opening import expand_names, expand_records
from bert_data.text.text_config import TextConfig
from tests.inspection.looking import instance, open_path
from tests.labelled.making import write_labelled
from tests.reader.making import example_of, write_examples, write_shard


def test_a_set_by_its_name_its_manifest_or_its_files(
    tmp_path: Path, small_vocabulary: Path
) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary)
    names = (pattern, f"{tmp_path}/t@3", f"{tmp_path}/manifest.t.json", f"{tmp_path}/*of-00003")
    for name in names:
        assert [Path(path).name for path in open_path(name).names] == [
            f"t-0000{i}-of-00003" for i in range(3)
        ]


def test_texts_are_named_as_curation_wrote_them(tmp_path: Path) -> None:
    names = [f"c-0000{i}-of-00002.jsonl" for i in range(2)]
    for name in names:
        (tmp_path / name).write_text('{"text": "The cat sat."}\n')
    assert [Path(path).name for path in open_path(f"{tmp_path}/c.jsonl@2").names] == names
    (tmp_path / names[0]).unlink()
    assert [Path(path).name for path in expand_names(f"{tmp_path}/c.jsonl@2")] == names
    with pytest.raises(ValueError, match=r"no file matches '.*/c.jsonl@3', but there is '.*@2'"):
        expand_names(f"{tmp_path}/c.jsonl@3")


def test_indexes_and_manifests_are_left_out(tmp_path: Path, small_vocabulary: Path) -> None:
    write_labelled(tmp_path, small_vocabulary)
    (tmp_path / "in.jsonl").unlink()
    assert len(open_path(f"{tmp_path}/*").names) == 3
    with pytest.raises(ValueError, match="names no shard, only indexes or manifests"):
        open_path(f"{tmp_path}/index.*")


def test_a_manifest_that_lists_nothing(tmp_path: Path) -> None:
    for name, text in (("manifest.a.json", "{"), ("manifest.b.json", '{"files": 3}')):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=f"{name} is not a manifest that lists shards"):
            open_path(tmp_path / name)


def test_records_without_a_label_have_no_task(tmp_path: Path) -> None:
    record = example_of(instance("[CLS] the [SEP]"), "reference")
    name = b"next_sentence_labels"
    path = write_examples(tmp_path / "part", [record.replace(name, b"x" * len(name))])
    (item,) = open_path(path).stream()
    assert "next_sentence_labels" not in item.fields


def test_model_gardens_records_are_those_of_masked_lm(tmp_path: Path) -> None:
    made = instance("[CLS] the [SEP]")
    items = []
    for name in ("v2", "reference"):
        write_shard(tmp_path / name, [made], name)
        items += open_path(tmp_path / name).stream()
    assert items[0].fields.keys() == items[1].fields.keys()
    assert items[0].fields["input_ids"].tolist() == items[1].fields["input_ids"].tolist()


def test_a_file_whose_ending_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("The cat sat.\n")
    assert open_path(tmp_path / "corpus").description.kind == "documents of text"
    write_shard(tmp_path / "x.txt", [instance("[CLS] [SEP]")])
    assert open_path(tmp_path / "x.txt").description.kind == "masked LM records"


def test_a_text_that_is_named_like_a_store(tmp_path: Path) -> None:
    (tmp_path / "corpus.bin").write_text("The cat sat.\n")
    source = open_path(tmp_path / "corpus.bin", text=TextConfig(input_format="lines"))
    assert source.count() == 1


def test_a_token_store_holds_no_records(tmp_path: Path) -> None:
    for name in ("web.bin", "web.idx", "shard.bin"):
        (tmp_path / name).write_bytes(b"")
    for name in ("web", "web.bin", "web.idx"):
        with pytest.raises(ValueError, match=f"names a token store.* --verify={tmp_path}/web`$"):
            expand_records(f"{tmp_path}/{name}")
    with pytest.raises(ValueError, match=r"/web' names a token store"):
        expand_records(f"{tmp_path}/shard.bin,{tmp_path}/web")
    assert expand_records(f"{tmp_path}/shard.bin") == [f"{tmp_path}/shard.bin"]


@pytest.mark.parametrize("name", ["x[1]", "a@2", "b@2/c"])
def test_a_folder_means_its_files_whatever_its_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "a.tfrecord").write_bytes(b"")
    assert expand_records(f"{folder}/") == [f"{folder}/a.tfrecord"]
    (folder / "a.tfrecord").rename(folder / "a.bin")
    (folder / "a.idx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"(\]|2|c)' holds a token store.* --verify=.*/a`$"):
        expand_records(str(folder))


@pytest.mark.parametrize("name", ["", "a,,b"])
def test_empty_names(name: str) -> None:
    with pytest.raises(ValueError, match="it must name files"):
        SourceConfig(input_file=name)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file matches"):
        open_path(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"none.idx"):
        open_path(tmp_path / "none.bin")
    with pytest.raises(IsADirectoryError):
        open_path(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is not a regular file"):
        open_path(tmp_path / "pipe")
