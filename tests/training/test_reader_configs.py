"""Configurations of reading for training and evaluation, by settings and files."""

import dataclasses
import gzip
import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest

import bert_data
from bert_data.reader import ReaderConfig, describe_order
from bert_data.training.model_vocabulary import ModelVocabulary
from bert_data.training.reader_configs import (
    check_records,
    evaluation_reader,
    held_out_data,
    model_of_records,
    training_order,
    vocabulary_of_records,
)
from tests.reader.making import make_instances, write_shard
from tests.rows import mostly_slow
from tests.training.tiny import random_batch, write_both


@pytest.fixture
def shard(tmp_path: Path) -> str:
    return str(write_shard(tmp_path / "train", make_instances(12)))


def training_reader(shard: str, batch_size: int | None = 4, **fields) -> ReaderConfig:
    return ReaderConfig(**training_order(shard), batch_size=batch_size, seed=1, **fields)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("pools", "batch", False)),
        ({"is_static": True}, ("buckets", "batch", True)),
        ({"is_static": True, "batching": "plain"}, ("plain", "max", True)),
        ({"batching": "stream"}, ("stream", "batch", True)),
        ({"batching": "packed", "width": (16, 32)}, ("packed", (16, 32), False)),
        ({"is_static": True, "width": "batch", "batching": "stream"}, ("stream", "batch", True)),
    ],
)
def test_files_that_can_be_planned(shard, settings, expected):
    order = training_order(shard, **settings)
    assert (order["batching"], order["width"], order["drop_remainder"]) == expected
    assert (order["shuffle"], order["num_epochs"], order["input_patterns"]) == (True, None, shard)


def test_compressed_files_are_streamed(shard, tmp_path):
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(Path(shard).read_bytes()))
    for settings in ({}, {"is_static": True}):
        assert training_order(str(packed), **settings)["batching"] == "stream"


def test_evaluation_reads_once_and_in_order(shard):
    data = training_reader(shard, pool_batches=3)
    held_out = evaluation_reader(data, "other", batch_size=7)
    assert (held_out.batching, held_out.width, held_out.batch_size) == ("stream", "batch", 7)
    assert (held_out.shuffle, held_out.num_epochs, held_out.drop_remainder) == (False, 1, False)
    assert (held_out.patterns, held_out.seed) == (("other",), 1)
    assert evaluation_reader(data, "other", batch_size=7, is_static=True).width == "max"


def test_evaluation_has_rows_where_tokens_bound_the_batches_of_training(shard):
    data = ReaderConfig(**training_order(shard), max_tokens_per_batch=100)
    held_out = evaluation_reader(data, shard, batch_size=8)
    assert (held_out.batch_size, held_out.max_tokens_per_batch) == (8, None)
    packed = ReaderConfig(
        **training_order(shard, batching="packed"), batch_size=4, max_seq_length=64
    )
    assert evaluation_reader(packed, shard, batch_size=8, width=(9,)).width == "batch"


@pytest.mark.slow
def test_evaluations_end_where_they_shall(shard):
    data = evaluation_reader(training_reader(shard), shard, batch_size=4)
    held_out = held_out_data(data, 2)
    assert len([*held_out.make_batches()]) == 2
    assert json.loads(held_out.description) == {**describe_order(data), "max_eval_steps": 2}
    whole = held_out_data(data)
    assert len([*whole.make_batches()]) == 3
    assert json.loads(whole.description) == describe_order(data)


@mostly_slow("batching", ["auto", "stream"])
def test_parquet_files_evaluate_as_tfrecord_files_do(tmp_path, batching):
    write_both(tmp_path, random_batch(num_examples=40))
    order = training_order(f"{tmp_path}/r.tfrecord", batching=batching)
    data = ReaderConfig(**order, batch_size=8, seed=1)
    batches = []
    for name in ("r.tfrecord", "r.parquet"):
        held_out = held_out_data(evaluation_reader(data, f"{tmp_path}/{name}", batch_size=8))
        batches.append(list(held_out.make_batches().as_numpy_iterator()))
    assert len(batches[0]) == 5
    for first, second in zip(*batches, strict=True):
        assert first.keys() == second.keys()
        for name, values in first.items():
            np.testing.assert_array_equal(values, second[name], name)


def test_the_records_vocabulary_is_the_manifests(small_text, small_vocabulary, tmp_path):
    names = {"a": small_vocabulary, "b": tmp_path / "other.txt"}
    tokens = small_vocabulary.read_text(encoding="utf-8")
    names["b"].write_text(tokens + "then\n", encoding="utf-8")
    for name, vocab_file in names.items():
        bert_data.create_records(small_text, tmp_path / name, vocab_file=vocab_file, dupe_factor=1)
    one, other = (training_reader(str(tmp_path / name)) for name in names)
    vocabulary = vocabulary_of_records(one)
    assert vocabulary.is_same(ModelVocabulary.read(str(small_vocabulary))) and not vocabulary.path
    named = dataclasses.replace(one, vocab_file=str(small_vocabulary))
    assert vocabulary_of_records(named).path == str(small_vocabulary)
    with pytest.raises(ValueError, match=r"several vocabularies: of the records .*a .*; .*b \("):
        vocabulary_of_records(one, other)


def test_records_are_compared_with_their_configurations(
    small_text, small_vocabulary, tmp_path, caplog
):
    made = {"vocab_file": small_vocabulary, "dupe_factor": 1, "max_seq_length": 64}
    bert_data.create_records(small_text, tmp_path / "nsp", **made)
    bert_data.create_records(small_text, tmp_path / "sop", **made, next_sentence="sop")
    bert_data.create_records(small_text, tmp_path / "bare", **made, max_predictions_per_seq=0)
    nsp, sop, bare = (training_reader(str(tmp_path / name)) for name in ("nsp", "sop", "bare"))
    check_records([nsp])
    assert "manifest says" not in caplog.text
    check_records([dataclasses.replace(nsp, max_seq_length=70)])
    assert "nsp: max_seq_length is 70, though their manifest says 64" in caplog.text
    with pytest.raises(ValueError, match=r"nsp were made with next_sentence nsp, but .*sop with"):
        check_records([nsp, sop])
    with pytest.raises(ValueError, match=r"bare have no tokens to predict .* by a `recipe`"):
        check_records([bare])


def test_sets_of_several_lengths_train_together_with_a_word(
    small_text, small_vocabulary, tmp_path, caplog
):
    made = {"vocab_file": small_vocabulary, "dupe_factor": 1}
    for length in (32, 64):
        path = tmp_path / str(length)
        bert_data.create_records(small_text, path, **made, max_seq_length=length)
    with caplog.at_level(logging.INFO, logger="absl"):
        check_records([training_reader(str(tmp_path / "32"))])
        assert "train together" not in caplog.text
        check_records([training_reader(f"{tmp_path}/32,{tmp_path}/64")])
    said = r"records of several max_seq_length train together: 32 in .*/32, 64 in .*/64"
    assert re.search(said, caplog.text)


@pytest.mark.parametrize("name", ["store", "store.bin", "store.idx", "sto*"])
def test_a_token_store_is_refused_by_its_kind(small_text, small_vocabulary, tmp_path, name):
    bert_data.tokenize(
        small_text, tmp_path / "store", vocab_file=small_vocabulary, level="sentence"
    )
    sentence = r"store is a token store, not records; .* `input_file=.*store`\), or train by"
    with pytest.raises(ValueError, match=sentence):
        training_reader(str(tmp_path / name))


def test_a_published_size_has_the_vocabulary_of_the_records(
    shard, small_text, small_vocabulary, tmp_path
):
    size = len(small_vocabulary.read_text(encoding="utf-8").splitlines())
    bert_data.create_records(small_text, tmp_path / "a", vocab_file=small_vocabulary, dupe_factor=1)
    assert model_of_records("tiny", str(tmp_path / "a")).vocab_size == size
    assert model_of_records("tiny", shard, str(small_vocabulary)).vocab_size == size
    tiny = model_of_records("tiny", shard)
    assert (tiny.vocab_size, tiny.hidden_size) == (30522, 128)
    (tmp_path / "model.json").write_text(json.dumps({"vocab_size": 9, "hidden_size": 24}))
    model = model_of_records(str(tmp_path / "model.json"), str(tmp_path / "a"))
    assert (model.vocab_size, model.hidden_size) == (9, 24)
