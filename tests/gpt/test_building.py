"""Data sets of all splits and blends of them, against Megatron-LM's builder."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.gpt import (
    BlendedDataset,
    GptConfig,
    GptDataset,
    build_datasets,
    building,
    exhaustive_blend,
    weighted_blend,
)
from bert_data.gpt.blending import Blend
from tests.goldens.reading import load_goldens
from tests.gpt import oracle
from tests.gpt.stores import assert_golden, golden_story, sha256, write_store
from tests.rows import mostly_slow

RANGES = {"A": range(2000), "B": range(2000, 3000), "C": range(3000, 9000)}


@mostly_slow("cached", [False, True])
def test_blends_are_megatrons(tmp_path, cached):
    golden = load_goldens("megatron.json")["end_to_end_blend"]
    prefixes = [
        write_store(tmp_path / name, map(golden_story, numbers)) for name, numbers in RANGES.items()
    ]
    config = GptConfig(
        seq_length=golden["seq_length"],
        seed=golden["seed"],
        split=golden["split"],
        cache_dir=str(tmp_path / "cache") if cached else None,
    )
    for _ in range(2):
        built = build_datasets(
            prefixes, config, weights=golden["weights"], num_samples=golden["sizes"]
        )
        for blended, expected in zip(built, golden["splits"], strict=True):
            assert (blended.split, len(blended)) == (expected["name"], expected["len"])
            assert_golden(blended.dataset_index, expected["dataset_index"])
            assert_golden(blended.dataset_sample_index, expected["dataset_sample_index"])
            for dataset, middle in zip(blended.datasets, expected["mid"], strict=True):
                assert list(dataset.document_range) == middle["documents"]
                assert_golden(dataset.document_index, middle["doc_idx"])
                assert_golden(dataset.sample_index, middle["sample_idx"])
                assert_golden(dataset.shuffle_index, middle["shuffle_idx"])
            tokens = np.stack([blended[number]["tokens"] for number in range(10)])
            assert sha256(tokens) == expected["first10_tokens_int64_sha256"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Of 30, 60 and 90 tokens; each has tokens of its own."""
    folder = tmp_path_factory.mktemp("stores")
    return [
        write_store(folder / f"s{n}", [[100 * n + i] * 10 for i in range(3 * n)]) for n in (1, 2, 3)
    ]


def test_a_blend_is_its_data_sets_side_by_side(stores):
    blended, _, _ = build_datasets(
        stores, GptConfig(seq_length=4), weights=[1, 2, 5], num_samples=[50]
    )
    chosen, samples = oracle.blend([1 / 8, 2 / 8, 5 / 8], len(blended))
    batch = blended.batch(range(len(blended)))
    for number, (dataset, sample) in enumerate(zip(chosen, samples, strict=True)):
        expected = blended.datasets[dataset][sample]
        blended_sample = blended[number]
        assert blended_sample.pop("dataset_id") == dataset
        for name, values in expected.items():
            np.testing.assert_array_equal(blended_sample[name], values)
            np.testing.assert_array_equal(getattr(batch, name)[number], values)
    backwards = blended.batch(range(len(blended))[::-1])
    np.testing.assert_array_equal(backwards.tokens, batch.tokens[::-1])
    assert blended[-1]["dataset_id"] == chosen[-1]
    with pytest.raises(IndexError, match=f"sample {len(blended)} of {len(blended)}"):
        blended[len(blended)]


def test_without_weights_every_sample_comes_once(stores):
    blended, valid, test = build_datasets(stores, GptConfig(seq_length=4))
    assert isinstance(blended, BlendedDataset) and (valid, test) == (None, None)
    sizes = [len(dataset) for dataset in blended.datasets]
    assert sizes == [7, 14, 22]
    chosen, _ = oracle.blend([size / 43 for size in sizes], 43, sizes)
    assert blended.dataset_index.tolist() == chosen
    twice, _, _ = build_datasets(stores, GptConfig(seq_length=4), num_epochs=2)
    assert [dataset.plan.num_epochs for dataset in twice.datasets] == [2, 2, 2]
    assert len(twice) == sum(len(dataset) for dataset in twice.datasets) == 14 + 29 + 44


def test_without_weights_a_size_cuts_the_blend(stores):
    blended, _, _ = build_datasets(stores, GptConfig(seq_length=4), num_samples=[20])
    chosen, _ = oracle.blend([7 / 43, 14 / 43, 22 / 43], 20)
    assert blended.dataset_index.tolist() == chosen
    assert len(build_datasets(stores, GptConfig(seq_length=4), num_samples=[43])[0]) == 43


def test_one_store(stores):
    config = GptConfig(seq_length=4, split="1,1")
    train, valid, test = build_datasets(stores[2:], config)
    assert isinstance(train, GptDataset) and isinstance(valid, GptDataset) and test is None
    assert (train.document_range, valid.document_range) == ((0, 4), (4, 9))
    only_valid = build_datasets(stores[2:], config, num_samples=[0, 3])
    assert [dataset is None for dataset in only_valid] == [True, False, True]
    weighted, _, _ = build_datasets(stores[2:], config, weights=[7.0], num_samples=[5])
    assert isinstance(weighted, BlendedDataset) and set(weighted.dataset_index) == {0}


@given(
    st.sampled_from([(1, None), (1, [7.0]), (2, None), (2, [3.0, 1.0])]),
    st.lists(st.integers(0, 60), min_size=1, max_size=3).filter(any),
    st.integers(1, 5),
)
def test_as_many_samples_as_are_asked_for(stores, kind, sizes, seq_length):
    """They are the first of those that `GptDataset` makes, which are Megatron-LM's."""
    config = GptConfig(seq_length=seq_length, split="2,1,1")
    names, weights = stores[1 : 1 + kind[0]], kind[1]
    try:
        built = build_datasets(names, config, weights=weights, num_samples=sizes)
    except ValueError as error:
        assert "but the stores have" in str(error) and kind == (2, None)
        return
    for dataset, size in itertools.zip_longest(built, sizes, fillvalue=0):
        assert (0 if dataset is None else len(dataset)) == size
        if kind == (1, None) and size:
            whole = GptDataset(names[0], config, split=dataset.split, num_samples=size)
            for one, other in zip(*(d.texts(range(size)) for d in (dataset, whole)), strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_blend_that_takes_more_than_was_made_gets_one_more_epoch(stores):
    """Weights so small that a share of it rounds to nothing, but each is taken once."""
    weights = [1e-13, 1.0, 1e-13]
    blended, _, _ = build_datasets(
        stores, GptConfig(seq_length=4), weights=weights, num_samples=[400]
    )
    batch = blended.batch(range(len(blended)))
    assert batch.tokens.shape == (len(blended), 4)
    for dataset, count in zip(blended.datasets, blended.blend.counts, strict=True):
        assert count <= len(dataset)


def test_a_blend_past_the_end_of_a_data_set_is_refused_with_the_numbers(stores):
    config = GptConfig(seq_length=4)
    datasets = [GptDataset(prefix, config) for prefix in stores]
    with pytest.raises(ValueError, match=r"takes 8 samples of data set 0 \(.*s1\), which has 7"):
        BlendedDataset(datasets, weighted_blend([1, 1, 1], 22))
    datasets[0] = GptDataset(stores[0], config, num_samples=8)
    assert len(BlendedDataset(datasets, weighted_blend([1, 1, 1], 22))) == 22


def test_data_sets_that_do_not_fit_each_other(stores):
    datasets = [GptDataset(stores[0], GptConfig(seq_length=4))]
    with pytest.raises(ValueError, match=r"1 data set\(s\) for a blend of 2"):
        BlendedDataset(datasets, weighted_blend([1, 1], 2))
    datasets.append(GptDataset(stores[1], GptConfig(seq_length=5)))
    with pytest.raises(ValueError, match=r"data set 1 \(.*s2\) has another configuration"):
        BlendedDataset(datasets, weighted_blend([1, 1], 2))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"weights": [1, 0, 1], "num_samples": [5]}, "weight 1 is 0; it must be above 0"),
        ({"weights": [1, 2, 3]}, "weights need num_samples"),
        ({"num_samples": [5], "num_epochs": 2}, "both set"),
        ({"num_samples": [0, 0]}, r"num_samples is \[0, 0\]"),
        ({"num_samples": []}, r"num_samples is \[\]"),
        ({"num_samples": [1, 2, 3, 4]}, "one to three numbers"),
        ({"num_samples": [-1, 5]}, "one to three numbers"),
        ({"num_samples": [5, 5]}, "the valid split has a share of 0"),
        (
            {"num_samples": [44]},
            "num_samples is 44 for train, but the stores have 43 samples; .*wei",
        ),
        ({"num_epochs": 0}, "num_epochs is 0"),
        ({"num_samples": [2**63]}, "num_samples is 9223372036854775808; 0 to 1,099,511,627,776"),
        ({"prefixes": []}, "0 data sets to blend"),
    ],
)
def test_mistakes_are_refused(stores, arguments, sentence):
    prefixes = arguments.pop("prefixes", stores)
    with pytest.raises(ValueError, match=sentence):
        build_datasets(prefixes, GptConfig(seq_length=4), **arguments)


class TestCache:
    def test_is_used_again(self, tmp_path, monkeypatch):
        folder = str(tmp_path)
        first = (
            weighted_blend([1, 3], 100, cache_dir=folder),
            exhaustive_blend([5, 9], cache_dir=folder),
        )
        for name in ("build_blending_indices", "build_exhaustive_blending_indices"):
            monkeypatch.setattr(building, name, None)  # what needs it fails
        second = (
            weighted_blend([2, 6], 100, cache_dir=folder),
            exhaustive_blend([5, 9], cache_dir=folder),
        )
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one.dataset_index, other.dataset_index)
            np.testing.assert_array_equal(one.counts, other.counts)
        with pytest.raises(TypeError):
            weighted_blend([2, 6], 101, cache_dir=folder)
        with pytest.raises(TypeError):
            weighted_blend([2, 7], 100, cache_dir=folder)

    @pytest.mark.parametrize(("name", "value"), [("index", 3), ("index", -1), ("sample", 10**6)])
    def test_numbers_out_of_range_are_told_when_used(self, stores, name, value):
        config = GptConfig(seq_length=4)
        datasets = [GptDataset(prefix, config) for prefix in stores]
        whole = weighted_blend([1, 1, 1], 9)
        numbers, samples = whole.dataset_index.copy(), whole.dataset_sample_index.copy()
        (numbers if name == "index" else samples)[4] = value
        blend = Blend(
            dataset_index=numbers,
            dataset_sample_index=samples,
            counts=whole.counts,
            shares=whole.shares,
        )
        with pytest.raises(CorruptDataError, match="is not in the blend; the cache is damaged"):
            BlendedDataset(datasets, blend).batch([4])


class TestPartitions:
    @pytest.fixture
    def web(self, tmp_path) -> str:
        """A data set of three stores of different sizes, beside one of a single store."""
        for number, size in enumerate((40, 10, 25)):
            write_store(f"{tmp_path}/web-{number:05d}-of-00003", [range(1, 30)] * size)
        write_store(tmp_path / "books", [range(30, 60)] * 20)
        return f"{tmp_path}/web@3"

    @pytest.mark.parametrize("name", ["web@3", "web-*", "web-0000?-of-00003"])
    def test_share_one_weight_by_their_tokens(self, web, tmp_path, name):
        config = GptConfig(seq_length=8, split="80,20")
        names, sizes = [f"{tmp_path}/books", f"{tmp_path}/{name}"], (600, 60)
        train, valid, _ = build_datasets(names, config, weights=[1, 3], num_samples=sizes)
        for built in (train, valid):
            shares = built.blend.shares
            assert shares[0] == 0.25
            assert sum(shares[1:]) == pytest.approx(0.75)
            parts = [d.documents for d in built.datasets[1:]]
            assert [part.prefix for part in parts] == [
                f"{tmp_path}/web-{number:05d}-of-00003" for number in range(3)
            ]
            num_tokens = [p.count_tokens(p.of_split("80,20", built.split)) for p in parts]
            expected = [0.75 * each / sum(num_tokens) for each in num_tokens]
            assert list(shares[1:]) == pytest.approx(expected)

    def test_without_weights_are_stores_as_others(self, web, tmp_path):
        config = GptConfig(seq_length=8)
        prefixes = [f"{tmp_path}/web-{number:05d}-of-00003" for number in range(3)]
        built = [build_datasets(names, config)[0] for names in ([web], prefixes)]
        assert np.array_equal(built[0].blend.dataset_index, built[1].blend.dataset_index)
        assert len(built[0]) == len(built[1])

    def test_a_weight_belongs_to_a_name(self, web, tmp_path):
        names = [web, f"{tmp_path}/books"]
        with pytest.raises(ValueError, match=r"4 weight\(s\) for 2 data set\(s\)"):
            build_datasets(names, GptConfig(seq_length=8), weights=[1] * 4, num_samples=[9])

    def test_that_are_missing_are_named(self, web, tmp_path):
        (tmp_path / "web-00001-of-00003.idx").unlink()
        with pytest.raises(FileNotFoundError, match=r"web-00001-of-00003\.idx"):
            build_datasets([web], GptConfig(seq_length=8))
