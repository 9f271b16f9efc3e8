"""Batches of labelled texts: each record once, packed as its text says, wherever one starts."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource, read_labelled_batches
from bert_data.reader import ReaderConfig, explain, read_batches
from bert_data.reader.planning import PlanConfig
from tests.labelled.making import NUM_RECORDS, texts, write_labelled
from tokenization import FullTokenizer


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory, small_vocabulary: Path) -> str:
    return write_labelled(tmp_path_factory.mktemp("labelled"), small_vocabulary)


def config(pattern: str, *, plan: dict | None = None, **options) -> LabelledReaderConfig:
    planned = PlanConfig(**{"batch_size": 4, **(plan or {})})
    return LabelledReaderConfig(input_patterns=pattern, plan=planned, **options)


def as_numpy(batches) -> list[tuple]:
    return [tf.nest.map_structure(lambda tensor: tensor.numpy(), batch) for batch in batches]


def rows_of(batches) -> list[tuple[list[int], int]]:
    """The ids of each row without padding, and its label."""
    rows = []
    for inputs, labels, weights in as_numpy(batches):
        for ids, mask, label, weight in zip(
            inputs["input_ids"], inputs["input_mask"], labels, weights, strict=True
        ):
            if weight:
                rows.append((ids[mask == 1].tolist(), int(label)))
            else:
                assert not mask.any()
                assert not ids.any()
    return rows


def expected_rows(vocabulary: Path, max_tokens: int = 99) -> list[tuple[list[int], int]]:
    tokenizer = FullTokenizer(str(vocabulary))
    cls, sep = tokenizer.vocab["[CLS]"], tokenizer.vocab["[SEP]"]
    rows = []
    for number, text in enumerate(texts()):
        ids = tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))
        rows.append(([cls, *ids[:max_tokens], sep], number % 3))
    return [rows[i] for shard in range(3) for i in range(shard, NUM_RECORDS, 3)]


@pytest.mark.slow
def test_rows_in_order(pattern: str, small_vocabulary: Path) -> None:
    batches = read_labelled_batches(config(pattern))
    assert batches.cardinality() == 6
    expected = expected_rows(small_vocabulary)
    assert rows_of(batches) == expected
    widths = [inputs["input_ids"].shape[1] for inputs, _, _ in batches]
    longest = [max(len(ids) for ids, _ in expected[i : i + 4]) for i in range(0, NUM_RECORDS, 4)]
    assert widths == longest


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        {"width": (16,), "max_seq_length": 16},
        {"batching": "pools", "pool_batches": 2, "max_seq_length": 16},
    ],
    ids=["fixed", "pools"],
)
def test_shuffled_and_cut_off(pattern: str, small_vocabulary: Path, plan: dict) -> None:
    options = config(pattern, plan={"shuffle": True, "seed": 3, **plan}, num_epochs=2)
    rows = rows_of(read_labelled_batches(options))
    expected = expected_rows(small_vocabulary, 14)
    for epoch in (rows[:NUM_RECORDS], rows[NUM_RECORDS:]):
        assert sorted(epoch) == sorted(expected)
        assert epoch != expected
    assert rows[:NUM_RECORDS] != rows[NUM_RECORDS:]
    widths = {inputs["input_ids"].shape[1] for inputs, _, _ in read_labelled_batches(options)}
    assert (widths == {16}) == ("width" in plan)


@pytest.mark.slow
def test_starts_at_any_batch(pattern: str) -> None:
    plan = {"batching": "pools", "shuffle": True}
    whole = as_numpy(read_labelled_batches(config(pattern, plan=plan, num_epochs=2)))
    for start in (1, 6, 11):
        options = config(pattern, plan=plan, num_epochs=None, start_batch=start)
        batches = read_labelled_batches(options)
        assert batches.cardinality() == tf.data.INFINITE_CARDINALITY
        part = as_numpy(batches.take(12 - start))
        tf.nest.map_structure(np.testing.assert_array_equal, part, whole[start:])


def test_a_start_after_the_last_batch_is_refused(pattern: str) -> None:
    assert list(read_labelled_batches(config(pattern, num_epochs=2, start_batch=12))) == []
    with pytest.raises(ValueError, match="start_batch is 13, but there are 12 batches"):
        read_labelled_batches(config(pattern, num_epochs=2, start_batch=13))


@pytest.mark.slow
def test_hosts_share_the_rows_of_a_batch(pattern: str) -> None:
    alone = as_numpy(read_labelled_batches(config(pattern)))
    hosts = [
        as_numpy(read_labelled_batches(config(pattern, plan={"num_hosts": 3}, host_index=host)))
        for host in range(3)
    ]
    for batch, parts in zip(alone, zip(*hosts, strict=True), strict=True):
        assert len({part[0]["input_ids"].shape for part in parts}) == 1
        shared = itertools.chain.from_iterable(map(rows_of_arrays, parts))
        assert sorted(rows_of_arrays(batch)) == sorted(shared)


def rows_of_arrays(batch: tuple) -> list[tuple[list[int], int]]:
    return rows_of([tf.nest.map_structure(tf.constant, batch)])


def test_pairs(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary, pairs=True)
    options = config(pattern, plan={"max_seq_length": 9}, form="features")
    for batch in read_labelled_batches(options):
        width = batch["input_ids"].shape[1]
        assert width <= 9
        segments = batch["segment_ids"].numpy()
        ends = batch["input_ids"].numpy() == 3  # [SEP]
        assert (ends.sum(axis=1) == 2).all()
        assert (segments.sum(axis=1) >= 2).all()  # "no" and one word more
        assert set(batch) == {
            "input_ids", "input_mask", "segment_ids", "label", "label_weight"
        }  # fmt: skip


@pytest.mark.slow
def test_ragged_form(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary, sentences="lines")
    source = LabelledSource(config(pattern, form="ragged"))
    assert (source.num_labels, source.form.ragged_rank, source.num_texts) == (3, 2, 1)
    assert source.form.classes == ("class 0", "class 1", "class 2")
    texts_and_labels = []
    for batch in read_labelled_batches(source):
        tokens = batch["text_tokens"]
        assert tokens.ragged_rank == 3  # batch of sentences of words of pieces
        flat = tokens.merge_dims(1, -1).to_list()
        assert batch["text_tokens_len"].numpy().tolist() == [len(row) for row in flat]
        words = [sum(len(s) for s in sentences) for sentences in tokens.to_list()]
        assert words == [len(text.split()) for text in batch["text"].numpy()]
        texts_and_labels += list(zip(batch["text"].numpy(), flat, strict=True))
    assert sorted(text for text, _ in texts_and_labels) == sorted(text.encode() for text in texts())
    rows = {tuple(ids[1:-1]) for ids, _ in expected_rows(small_vocabulary)}
    assert {tuple(row) for _, row in texts_and_labels} == rows


def test_what_contradicts_the_shards(
    pattern: str, small_vocabulary: Path, small_text: Path
) -> None:
    LabelledSource(config(pattern, vocab_file=str(small_vocabulary)))
    with pytest.raises(ValueError, match="was made with another vocabulary than"):
        LabelledSource(config(pattern, vocab_file=str(small_text)))
    with pytest.raises(ValueError, match=r"has no manifest; to read .*`vocab_file`"):
        LabelledSource(config(str(small_text)))
    with pytest.raises(ValueError, match=r"plan\.max_seq_length is 1; it must be 2 or more"):
        LabelledSource(config(pattern, plan={"max_seq_length": 1}))


def test_readers_of_other_records_say_whose_these_are(pattern: str) -> None:
    for options in ({}, {"batching": "pools"}):
        with pytest.raises(ValueError, match="holds labelled texts; read them"):
            read_batches(ReaderConfig(input_patterns=pattern, batch_size=2, **options))


@pytest.mark.slow
def test_damage_reaches_the_caller(tmp_path: Path, small_vocabulary: Path) -> None:
    pattern = write_labelled(tmp_path, small_vocabulary)
    path = tmp_path / "t-00001-of-00003"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(tf.errors.OpError) as caught:
        list(read_labelled_batches(config(pattern)))
    error = explain(caught.value)
    assert isinstance(error, CorruptDataError)
    assert error.path == str(path)
    path.write_bytes(data[:-1])
    with pytest.raises(CorruptDataError, match="its manifest says"):
        LabelledSource(config(pattern))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"plan": {"batching": "packed"}}, "plan.batching is 'packed'"),
        ({"host_index": 1}, r"host_index is 1; it must be below plan\.num_hosts, 1"),
    ],
)
def test_settings_are_checked(options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        config("a", **options)
