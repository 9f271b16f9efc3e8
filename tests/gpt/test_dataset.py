"""GPT data sets: samples of the oracle and of Megatron-LM, masks, ranges, mistakes."""

import dataclasses
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.gpt import GptConfig, GptDataset, build_datasets, causal_mask, indices
from bert_data.gpt.dataset import open_snapshot, take_snapshot
from bert_data.gpt.sample_kernels import derive_batch, new_batch
from bert_data.gpt.store_documents import split_documents
from tests.goldens.reading import load_goldens
from tests.gpt import oracle
from tests.gpt.stores import assert_golden, golden_story, sha256, write_store

COVERS = ("gpt/gpt_config", "gpt/sample_kernels")


FLAGS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
EOD = 9


def text_of(sample, extra):
    last = sample["labels"][-1:] if extra else []
    return np.concatenate([sample["tokens"], last]).astype(np.int64)


class TestMegatron:
    def test_samples(self, tmp_path):
        for number, golden in enumerate(load_goldens("megatron.json")["gpt_indices"]):
            num_documents = int(golden["corpus"].split("..")[1]) + 1
            prefix = write_store(tmp_path / f"{number}", map(golden_story, range(num_documents)))
            extra = golden["add_extra_token_to_sequence"]
            config = GptConfig(
                seq_length=golden["seq_length"],
                seed=golden["seed"],
                split={"train": "1", "valid": "969,30,1"}[golden["split"]],
                add_extra_token_to_sequence=bool(extra),
                drop_last_partial_validation_sequence=golden["drop_last_partial"],
            )
            dataset = GptDataset(
                prefix, config, split=golden["split"], num_samples=golden["num_samples"]
            )
            assert list(dataset.document_range) == golden["documents"]
            assert len(dataset) == golden["len"]
            assert dataset.plan.tokens_per_epoch == golden["tokens_per_epoch"]
            assert dataset.plan.num_epochs == golden["num_epochs"]
            assert dataset.plan.is_last_separate == golden["separate_final_epoch"]
            assert_golden(dataset.document_index, golden["doc_idx"])
            assert_golden(dataset.sample_index, golden["sample_idx"])
            assert_golden(dataset.shuffle_index, golden["shuffle_idx"])
            texts = [text_of(dataset[i], extra) for i in range(min(10, len(dataset)))]
            assert sha256(np.stack(texts)) == golden["first_min10_texts_int64_sha256"]
            for name, values in golden.get("sample0", {}).items():
                assert dataset[0][name].tolist() == values

    def test_masks(self):
        goldens = load_goldens("megatron.json")["ltor_masks"]
        text = np.array([[*goldens["tokens"], 77]], np.int32)
        assert len(goldens["cases"]) == 8
        for case in goldens["cases"]:
            batch = new_batch(1, 8)
            flags = [bool(case[name]) for name in FLAGS]
            derive_batch(text, np.array([9], np.int32), goldens["eod"], *flags, batch)
            assert batch.tokens.tolist() == [goldens["tokens"]]
            assert batch.labels.tolist() == [[*goldens["tokens"][1:], 77]]
            assert batch.loss_mask.tolist() == [case["loss_mask"]]
            assert batch.position_ids.tolist() == [case["position_ids"]]
            masked = ~causal_mask(batch.segment_starts)
            assert sha256(masked) == case["attention_mask_true_means_masked"]["sha256"]


@st.composite
def corpora(draw):
    token = st.sampled_from([0, 1, 7, EOD, 300, 65535])
    stories = draw(st.lists(st.lists(token, max_size=12), min_size=1, max_size=12))
    split = draw(st.sampled_from(["0,1", "1,1", "1,2,1"]))
    documents = split_documents(split, len(stories))[1]
    if documents is None or not any(stories[slice(*documents)]):
        return [*stories, [1]], "0,1", (0, len(stories) + 1)
    return stories, split, documents


@given(
    corpora(),
    st.integers(1, 15),
    st.none() | st.integers(1, 40),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from(["<u2", "<i4"]),
    st.sampled_from([1, 3, 1 << 22]),
)
def test_samples_are_the_oracles(
    tmp_path_factory, corpus, seq_length, num_samples, seed, extra, drop_last, flags, dtype, at_once
):
    stories, split, documents = corpus
    expected = oracle.indices(
        [len(story) for story in stories],
        documents,
        seq_length,
        num_samples,
        seed,
        extra=extra,
        drop_last=drop_last,
    )
    prefix = write_store(tmp_path_factory.mktemp("store") / "s", stories, dtype)
    config = GptConfig(
        seq_length=seq_length,
        seed=seed,
        split=split,
        add_extra_token_to_sequence=bool(extra),
        drop_last_partial_validation_sequence=drop_last,
        eod_id=EOD,
        **dict(zip(FLAGS, flags, strict=True)),
    )
    if not expected.order:
        with pytest.raises(ValueError, match="seq_length is"):
            GptDataset(prefix, config, split="valid", num_samples=num_samples)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indices, "ROWS_AT_ONCE", at_once)
        dataset = GptDataset(prefix, config, split="valid", num_samples=num_samples)
    assert dataset.plan.num_epochs == expected.num_epochs
    assert dataset.plan.is_last_separate == expected.is_last_separate
    assert dataset.document_index.tolist() == expected.documents
    assert dataset.sample_index.tolist() == [list(row) for row in expected.rows]
    assert dataset.shuffle_index.tolist() == expected.order
    texts = oracle.texts(stories, expected, seq_length, extra)
    assert len(dataset) == len(texts) >= (num_samples or 0)
    rows = [oracle.batch_row(text, seq_length, EOD, *flags) for text in texts]
    batch = dataset.batch(range(len(dataset)))
    for name, values in batch._asdict().items():
        assert values.tolist() == [row[name] for row in rows]
        assert values.dtype == (np.float32 if name == "loss_mask" else np.int32)
    last = {name: values.tolist() for name, values in dataset[-1].items()}
    assert last == rows[-1]


def test_a_partial_sample_is_for_validation_alone(tmp_path):
    prefix = write_store(tmp_path / "s", [[1] * 8, [2] * 8])
    for split, expected in (("train", 2), ("valid", 3)):
        config = GptConfig(seq_length=3, split="1,1", drop_last_partial_validation_sequence=False)
        dataset = GptDataset(prefix, config, split=split)
        assert len(dataset) == expected
    padded = [
        sample for sample in map(dataset.__getitem__, range(3)) if not sample["loss_mask"].all()
    ]
    assert [sample["loss_mask"].tolist() for sample in padded] == [[1.0, 0.0, 0.0]]
    assert [sample["tokens"].tolist() for sample in padded] == [[2, 2, 0]]


def test_numbers_of_samples(tmp_path):
    dataset = GptDataset(write_store(tmp_path / "s", [list(range(50))]), GptConfig(seq_length=7))
    assert len(dataset) == 7
    assert dataset[np.int64(3)]["tokens"].tolist() == dataset[3 - 7]["tokens"].tolist()
    assert {int(sample["tokens"][0]) for sample in dataset} == set(range(0, 49, 7))
    for number in (7, -8):
        with pytest.raises(IndexError, match=f"sample {number} of 7; they count from 0"):
            dataset[number]
    for numbers in ([0, 7], [-1]):
        with pytest.raises(IndexError, match=f"sample {numbers[-1]} of 7"):
            dataset.batch(numbers)
    with pytest.raises(TypeError):
        dataset["3"]
    with pytest.raises(TypeError, match="must be integers, not float64"):
        dataset.batch([1.5])
    assert dataset.batch([]).tokens.shape == (0, 7)


def test_wide_indices_give_the_same_samples(tmp_path, monkeypatch):
    prefix = write_store(tmp_path / "s", [list(range(i)) for i in range(20)])
    config = GptConfig(seq_length=7, cache_dir=str(tmp_path))
    narrow = GptDataset(prefix, config, num_samples=60).batch(range(60))
    monkeypatch.setattr("bert_data.gpt.indices.MAX_INT32", 8)
    monkeypatch.setattr("bert_data.gpt.indices.MAX_UINT32", 8)
    with pytest.raises(CorruptDataError, match=r"int32 .* instead of int64"):
        GptDataset(prefix, config, num_samples=60)
    wide = GptDataset(prefix, dataclasses.replace(config, cache_dir=None), num_samples=60)
    assert (wide.sample_index.dtype, wide.shuffle_index.dtype) == (np.int64, np.int64)
    np.testing.assert_array_equal(wide.batch(range(60)).tokens, narrow.tokens)


@pytest.mark.slow
def test_tokens_are_read_from_any_place_of_a_large_file(tmp_path):
    """A sparse store past 4 GiB and 2**31 tokens: only what is needed is read."""
    num_documents, length = 4, 2**30
    with open(tmp_path / "s.idx", "wb") as index:
        index.write(struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 8, num_documents, num_documents + 1))
        index.write(np.full(num_documents, length, "<i4").tobytes())
        index.write((np.arange(num_documents) * (2 * length)).astype("<i8").tobytes())
        index.write(np.arange(num_documents + 1).astype("<i8").tobytes())
    with open(tmp_path / "s.bin", "wb") as ids:
        ids.truncate(num_documents * length * 2)
        for number in range(num_documents):
            ids.seek((number + 1) * length * 2 - 6)
            ids.write(np.array([number + 1] * 3, "<u2").tobytes())
    dataset = GptDataset(str(tmp_path / "s"), GptConfig(seq_length=2**20))
    assert dataset.plan.tokens_per_epoch == 2**32
    assert len(dataset) == 2**12 - 1
    ends = []
    for row in range(1, len(dataset) + 1):
        position, offset = dataset.sample_index[row]
        if offset == 0 and position:
            ends.append(row - 1)
    for sample in ends:
        number = int(np.flatnonzero(dataset.shuffle_index == sample)[0])
        tokens = dataset.batch([number]).tokens[0]
        document = int(dataset.document_index[dataset.sample_index[sample, 0]])
        assert tokens[-4:].tolist() == [0, *[document + 1] * 3]
    assert ends


def test_token_ids_that_are_none_are_told(tmp_path):
    for number, bad in enumerate((-1, 2**31, 2**40)):
        prefix = write_store(tmp_path / f"s{number}", [[1, 2, 3, 4, 5]], "<i8")
        dataset = GptDataset(prefix, GptConfig(seq_length=2))
        replace_token(prefix, 2, bad, "<i8")
        with pytest.raises(CorruptDataError, match=r"s\d.bin: .* token id that is not in \[0, 2"):
            dataset.batch(range(len(dataset)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"split": "x"}, "split is 'x'"),
        *(({name: True}, f"{name} needs `eod_id`") for name in FLAGS),
    ],
)
def test_settings_are_checked(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        GptConfig(**{"seq_length": 4, **changes})


def test_data_sets_that_cannot_be_made(tmp_path):
    prefix = write_store(tmp_path / "s", [[1, 2, 3], [4, 5]])
    with pytest.raises(ValueError, match="seq_length is 5, but one epoch has 5 tokens; at most 4"):
        GptDataset(prefix, GptConfig(seq_length=5))
    with pytest.raises(ValueError, match="num_samples is 0; 1 to 1,099"):
        GptDataset(prefix, GptConfig(seq_length=2), num_samples=0)
    with pytest.raises(ValueError, match="valid split"):
        GptDataset(prefix, GptConfig(seq_length=2), split="valid")
    assert GptDataset(prefix, GptConfig(seq_length=12), num_samples=1).plan.num_epochs == 3


def replace_token(prefix: str, place: int, value: int, dtype: str) -> None:
    """Damage an open store."""
    token = np.array([value], dtype)
    with open(f"{prefix}.bin", "r+b") as file:
        file.seek(place * token.itemsize)
        file.write(token.tobytes())


@pytest.mark.parametrize("ending", ["s.bin", "s.idx", "cache/*-sample_index.npy"])
def test_a_file_that_is_truncated_while_it_is_read_is_an_error(tmp_path, ending):
    """The end of a memory map that has no file any more would end the process."""
    prefix = write_store(tmp_path / "s", [[1] * 3000] * 9)
    config = GptConfig(seq_length=4, cache_dir=str(tmp_path / "cache"))
    dataset = GptDataset(prefix, config, num_samples=20_000)
    blended, _, _ = build_datasets([prefix], config, weights=[1], num_samples=[100])
    dataset.batch([0])
    path = max(tmp_path.glob(ending), key=os.path.getsize)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(CorruptDataError, match=r"has been truncated to .* while") as caught:
        dataset.batch([len(dataset) - 1])
    assert caught.value.path == str(path)
    if ending.startswith("s."):
        with pytest.raises(CorruptDataError, match="has been truncated"):
            blended.batch([0])


@pytest.mark.parametrize("num_stores", [1, 2])
@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("has_been_read", [True, False])
def test_a_snapshot_gives_the_same_samples(tmp_path, num_stores, is_kept, has_been_read):
    stories = [range(number, number + 9) for number in range(50)]
    prefixes = [write_store(tmp_path / name, stories) for name in "ab"[:num_stores]]
    cache_dir = str(tmp_path / "cache") if is_kept else None
    config = GptConfig(seq_length=5, cache_dir=cache_dir, split="8,2")
    dataset, _, _ = build_datasets(prefixes, config, weights=[1] * num_stores, num_samples=[150])
    assert dataset is not None
    if has_been_read:
        dataset.batch([0])
    snapshot = take_snapshot(dataset)
    assert len(snapshot.head) < 5000
    snapshot.save(str(tmp_path))
    opened = open_snapshot(str(tmp_path))
    assert (len(opened), opened.config, opened.split) == (len(dataset), config, "train")
    numbers = range(len(dataset))
    for values, expected in zip(opened.batch(numbers), dataset.batch(numbers), strict=True):
        assert np.array_equal(values, expected)
    again = take_snapshot(opened)
    assert again.arrays_sha256() == snapshot.arrays_sha256()
    other, _, _ = build_datasets(
        prefixes, GptConfig(seq_length=5, seed=1), weights=[1] * num_stores, num_samples=[150]
    )
    assert other is not None
    assert take_snapshot(other).arrays_sha256() != snapshot.arrays_sha256()
