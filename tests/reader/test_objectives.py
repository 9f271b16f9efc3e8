"""Records of each objective, read in each way: what was made is what comes."""

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays, objective_of, read_batches
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.objectives import OBJECTIVES
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.rows import mostly_slow

WAYS = ("stream", "plain", "pools", "buckets", "packed")
KINDS = ("ragged", "reference", "parquet")
LABELS = "next_sentence_labels"


@pytest.fixture(scope="module")
def datasets(small_text, small_vocabulary, tmp_path_factory):
    """A set of each kind and objective, with all its instances, by (kind, objective)."""
    folder = tmp_path_factory.mktemp("sets")
    return {
        (kind, name): create_dataset(
            DatasetConfig(
                input_file=str(small_text),
                output_file=f"{folder / name}-{kind}@2",
                vocab_file=str(small_vocabulary),
                instances=InstanceConfig(
                    max_seq_length=24, dupe_factor=2, max_predictions_per_seq=4, next_sentence=name
                ),
                output_format="parquet" if kind == "parquet" else "tfrecord",
                record_layout="ragged" if kind == "parquet" else kind,
                num_examples=10_000,
            )
        )
        for kind, name in itertools.product(KINDS, OBJECTIVES)
    }


def config_of(dataset, **choices) -> ReaderConfig:
    return ReaderConfig(**{"input_patterns": dataset.paths, "batch_size": 16, **choices})


def instances_of(batches) -> Counter:
    """(ids, segments, positions, labels of positions, label) of each instance of all batches."""
    instances = Counter()
    for batch in batches:
        numbers = batch.get("instance_ids", batch["input_mask"])
        for row in range(len(numbers)):
            weights = batch["masked_lm_weights"][row] > 0
            positions = batch["masked_lm_positions"][row][weights]
            words = batch["masked_lm_ids"][row][weights]
            for number in range(1, numbers[row].max() + 1):
                places = np.flatnonzero(numbers[row] == number)
                here = np.isin(positions, places)
                instances[
                    tuple(batch["input_ids"][row][places]),
                    tuple(batch["segment_ids"][row][places]),
                    tuple(positions[here] - places[0]),
                    tuple(words[here]),
                    batch[LABELS][row][number - 1] if LABELS in batch else None,
                ] += 1
    return instances


@mostly_slow("name", OBJECTIVES)
@mostly_slow("kind", KINDS)
def test_what_was_made_is_what_comes(datasets, kind, name):
    dataset = datasets[kind, name]
    written = Counter(
        (i.ids, i.segment_ids, i.masked_positions, i.masked_ids, i.label) for i in dataset.examples
    )
    is_parquet = kind == "parquet"  # read in order
    for batching in ("stream",) if is_parquet else WAYS:
        config = config_of(dataset, batching=batching, shuffle=not is_parquet)
        batches = list(iterate_arrays(config))
        assert instances_of(batches) == written, batching
        assert all((LABELS in batch) == (name != "none") for batch in batches)
    assert objective_of(config) is OBJECTIVES[name]


@mostly_slow("name", OBJECTIVES)
@mostly_slow("batching", ["stream", "packed"])
def test_the_outputs_of_fit_have_the_tasks_names(datasets, name, batching):
    config = config_of(datasets["ragged", name], batching=batching, form="fit")
    tasks = {"masked_lm", OBJECTIVES[name].task or "masked_lm"}
    inputs, labels, weights = next(iter(read_batches(config)))
    assert set(labels) == set(weights) == tasks
    assert not any(key.startswith(LABELS) for key in inputs)
    assert ("next_sentence_positions" in inputs) == (batching == "packed" and name != "none")


@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_different_objectives_are_not_mixed(datasets, kind):
    one, other = datasets[kind, "none"], datasets[kind, "sop"]
    for batching in ("stream",) if kind == "parquet" else ("stream", "pools"):
        config = config_of(one, input_patterns=[*one.paths, *other.paths], batching=batching)
        with pytest.raises(ValueError, match=r"made with next_sentence sop, but .* with none"):
            next(iterate_arrays(config))
    with pytest.raises(ValueError, match=r"next_sentence is nsp, but .* with next_sentence none"):
        next(iterate_arrays(config_of(one, next_sentence="nsp")))
    with pytest.raises(
        ValueError, match="next_sentence is 'off'; it must be one of nsp, sop, none"
    ):
        config_of(one, next_sentence="off")


def test_without_a_manifest_the_configuration_says_it(datasets, tmp_path):
    dataset = datasets["ragged", "none"]
    path = tmp_path / "alone"
    with open(dataset.paths[0], "rb") as file:
        path.write_bytes(file.read())
    config = config_of(dataset, input_patterns=str(path))
    for batching in ("stream", "plain"):
        config = dataclasses.replace(config, batching=batching, next_sentence=None)
        with pytest.raises(CorruptDataError, match="no feature 'next_sentence_labels'; next_sent"):
            next(iterate_arrays(config))
        config = dataclasses.replace(config, next_sentence="none")
        assert instances_of(iterate_arrays(config)).total() == dataset.manifest.files[0].num_records
