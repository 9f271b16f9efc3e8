"""Stores by NeMo Curator's rules: their names, a store of each file, and what is refused."""

import dataclasses
import json
from pathlib import Path

import pytest

import bert_data
from bert_data.tokens.store import open_store
from bert_data.tokens.store_making import StoreConfig, curator_name, make_stores

NAMED_A, NAMED_BOTH = "37f2dce639b1", "595d92197640"


def test_curators_names_are_hashes_of_whole_paths_and_the_task(tmp_path, monkeypatch):
    """What the function of NeMo Curator 1.3 that names its stores gives for the task 0_HASH_0."""
    assert curator_name(["/d/a.jsonl"]) == NAMED_A
    assert curator_name(["/d/b.jsonl", "/d/a.jsonl"]) == NAMED_BOTH
    monkeypatch.chdir("/")
    assert curator_name(["d/a.jsonl"]) == NAMED_A
    assert curator_name(["s3://d/a.jsonl"]) == curator_name(["s3://d/a.jsonl"]) != NAMED_A


@pytest.mark.parametrize("size", [1, 2])
def test_curators_rules_make_a_store_of_each_file_or_group(tmp_path, small_vocabulary, size):
    """An empty document is a sequence, so that there is one bound more than sequences."""
    for name, texts in (("b", ["do", "", "ba"]), ("a", ["ba"]), ("c", [""] * 2 + ["ki."])):
        rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (tmp_path / f"{name}.jsonl").write_text(rows)
    config = StoreConfig(
        input_file=f"{tmp_path}/b.jsonl,{tmp_path}/[ac].jsonl",
        output_prefix=f"{tmp_path}/out/",
        vocab_file=str(small_vocabulary),
        store_rules="curator",
        files_per_partition=size,
    )
    stores = make_stores(config)
    paths = [str(tmp_path / f"{name}.jsonl") for name in "abc"]
    groups = [paths[:2], paths[2:]] if size == 2 else [[path] for path in paths]
    expected = [f"{tmp_path}/out/{curator_name(group)}" for group in groups]
    assert [store.prefix for store in stores] == expected
    lengths = {"a": [1], "b": [1, 0, 1], "c": [0, 0, 2]}
    for store, group in zip(stores, groups, strict=True):
        opened = open_store(store.prefix)
        assert opened.lengths.tolist() == [n for path in group for n in lengths[Path(path).stem]]
        assert opened.documents.tolist() == list(range(opened.lengths.size + 1))
    assert not any(store.is_new for store in make_stores(config))


def test_curators_rules_are_refused_where_its_writer_has_none(tmp_path, small_vocabulary):
    rows, lines = tmp_path / "a.jsonl", tmp_path / "a.txt"
    rows.write_text('{"text": "ba"}\n')
    lines.write_text("ba\n")
    config = StoreConfig(
        input_file=str(lines),
        output_prefix=str(tmp_path / "s"),
        vocab_file=str(small_vocabulary),
        store_rules="curator",
    )
    with pytest.raises(ValueError, match="documents of the format lines may go on in the next"):
        make_stores(config)
    config = dataclasses.replace(config, input_file=str(rows), level="sentence")
    with pytest.raises(ValueError, match="level is 'sentence', but NeMo Curator's stores are of"):
        make_stores(config)
    with pytest.raises(ValueError, match="which texts from Python do not have"):
        bert_data.tokenize(["ba"], tmp_path, vocab_file=small_vocabulary, store_rules="curator")
