"""Masks drawn anew, through the whole reader, against the oracle and among themselves."""

import dataclasses
import itertools
import random
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
from bert_data.objectives.making import InstanceConfig
from bert_data.objectives.masking import MaskingRule
from bert_data.objectives.masking_rules import MaskingConfig, masking_rule
from bert_data.reader import ReaderConfig, describe_order, iterate_batches
from bert_data.reader.splitmix import key_of
from bert_data.tokens.hugging_face_files import tokenizer_json
from bert_data.tokens.vocabulary import TokenTable, load_vocabulary
from tests.reader.making import feature, write_examples
from tests.reader.oracle import mask
from tests.rows import mostly_slow

MOST_TOKENS, MOST_PREDICTIONS, NUM_RECORDS, SEED = 24, 5, 40, 9


@dataclasses.dataclass(frozen=True)
class Record:
    """A record's tokens without masks, and where words begin in them."""

    tokens: list[int]
    begins_word: list[bool]


def make_record(number: int, vocabulary: TokenTable) -> Record:
    drawn = random.Random(number)
    ids = range(5, vocabulary.size)
    a, b = ([drawn.choice(ids) for _ in range(drawn.randint(0, 10))] for _ in range(2))
    tokens = [vocabulary.cls_id, *a, vocabulary.sep_id, *b, vocabulary.sep_id]
    first = {1, len(a) + 2}
    starts = [t in first or not vocabulary.continuation[i] for t, i in enumerate(tokens)]
    return Record(tokens, starts)


def example(record: Record, kind: str, number: int) -> bytes:
    """A record as it is stored: "masked" and ragged, "unmasked", or "padded" and masked."""
    drawn, tokens = random.Random(number), list(record.tokens)
    positions = [] if kind == "unmasked" else sorted(drawn.sample(range(1, len(tokens)), 2))
    labels = [tokens[position] for position in positions]
    for position in positions:
        tokens[position] = drawn.choice((4, 7))

    def pad(values, length):
        return [*values, *[0] * (length - len(values))] if kind == "padded" else values

    features = {
        "input_ids": feature(pad(tokens, MOST_TOKENS)),
        "input_mask": feature(pad([1] * len(tokens), MOST_TOKENS)),
        "segment_ids": feature(pad([0] * len(tokens), MOST_TOKENS)),
        "masked_lm_positions": feature(pad(positions, MOST_PREDICTIONS)),
        "masked_lm_ids": feature(pad(labels, MOST_PREDICTIONS)),
        "masked_lm_weights": feature(pad([1.0] * len(labels), MOST_PREDICTIONS), is_float=True),
        "next_sentence_labels": feature([number % 2]),
    }
    if kind != "padded":
        starts = [t for t, begins in enumerate(record.begins_word) if begins]
        features["input_ids_splits_0"] = feature([*starts, len(tokens)])
    message = tf.train.Example(features=tf.train.Features(feature=features))
    return message.SerializeToString(deterministic=True)


@pytest.fixture
def vocabulary(small_vocabulary) -> TokenTable:
    return load_vocabulary(small_vocabulary)


@pytest.fixture
def records(vocabulary) -> list[Record]:
    return [make_record(number, vocabulary) for number in range(NUM_RECORDS)]


def config_of(folder, records, vocabulary, kind="masked", **choices) -> ReaderConfig:
    """Writes two shards; records are numbered through both."""
    for shard in range(2):
        part = range(shard * NUM_RECORDS // 2, (shard + 1) * NUM_RECORDS // 2)
        path = folder / f"{kind}-{shard}"
        if not path.exists():
            write_examples(path, (example(records[i], kind, i) for i in part))
    settings = {
        "input_patterns": str(folder / f"{kind}-*"),
        "batch_size": 6,
        "batching": "plain",
        "max_seq_length": MOST_TOKENS,
        "max_predictions_per_seq": MOST_PREDICTIONS,
        "seed": SEED,
        "vocab_file": vocabulary.path,
        "dynamic_masking": True,
        "masked_lm_prob": 0.3,
    }
    return ReaderConfig(**{**settings, **choices})


def rule_of(vocabulary, probability=0.3, **settings) -> MaskingRule:
    config = MaskingConfig(masked_lm_prob=probability, **settings)
    return masking_rule(
        config,
        vocabulary,
        max_seq_length=MOST_TOKENS,
        max_predictions_per_seq=MOST_PREDICTIONS,
    )


def masked_rows(config) -> list[tuple]:
    """(tokens, positions, labels) of each instance, packed or not, in the order of the batches."""
    rows = []
    for batch in iterate_batches(config):
        batch = {name: values.numpy() for name, values in batch.items()}
        for row in range(batch["input_ids"].shape[0]):
            numbers = batch.get("instance_ids", batch["input_mask"])[row]
            weights = batch["masked_lm_weights"][row]
            count = int(weights.sum())
            assert weights.tolist() == [1.0] * count + [0.0] * (weights.size - count)
            positions = batch["masked_lm_positions"][row][:count]
            labels = batch["masked_lm_ids"][row][:count]
            assert not batch["masked_lm_positions"][row][count:].any()
            assert not batch["masked_lm_ids"][row][count:].any()
            for number in range(1, numbers.max(initial=0) + 1):
                places = np.flatnonzero(numbers == number)
                here = np.isin(positions, places)
                rows.append(
                    (
                        tuple(batch["input_ids"][row][places].tolist()),
                        tuple((positions[here] - places[0]).tolist()),
                        tuple(labels[here].tolist()),
                    )
                )
    return rows


@mostly_slow(
    "settings",
    [
        {},
        {"masking": "ngrams"},
        {"masking": "ngrams", "max_ngram": 1},
        {"masking": "ngrams", "max_ngram": 7, "favor_shorter_ngrams": False},
        {"masking": "spans"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "tokens",
)
@mostly_slow("whole_words", [False, True])
@mostly_slow("kind", ["masked", "unmasked", "padded"])
def test_batches_hold_what_the_oracle_masks(
    tmp_path, records, vocabulary, kind, whole_words, settings
):
    settings = {"do_whole_word_mask": whole_words, **settings}
    config = config_of(tmp_path, records, vocabulary, kind, num_epochs=2, **settings)
    rule = rule_of(vocabulary, **settings)
    expected = []
    for epoch in range(2):
        for number, record in enumerate(records):
            key = int(key_of(SEED, epoch, 3, number))
            expected.append(tuple(map(tuple, mask(record.tokens, rule, key))))
    assert masked_rows(config) == expected
    assert expected[:NUM_RECORDS] != expected[NUM_RECORDS:]


@pytest.mark.parametrize(
    "choices",
    [
        {"batching": "pools", "batch_size": 3, "pool_batches": 4, "shuffle": True},
        {"batching": "pools", "width": "max", "shuffle": True},
        {"batching": "buckets", "num_buckets": 3, "shuffle": True},
        {"batching": "packed", "shuffle": True},
        {"batching": "packed", "width": (48,), "shuffle": True},
        {"batching": "plain", "batch_size": None, "max_tokens_per_batch": 100, "shuffle": True},
    ],
    ids=str,
)
def test_masks_do_not_depend_on_where_a_record_falls(tmp_path, records, vocabulary, choices):
    masking = {"do_whole_word_mask": True}
    plain = masked_rows(config_of(tmp_path, records, vocabulary, **masking))
    for num_hosts in (1, 3):
        rows = []
        for host in range(num_hosts):
            hosts = {"num_hosts": num_hosts, "host_index": host}
            config = config_of(tmp_path, records, vocabulary, **masking, **choices, **hosts)
            rows += masked_rows(config)
        assert Counter(rows) == Counter(plain)


def test_shares_and_places_are_the_rules(tmp_path, vocabulary):
    """Over many epochs: 80% [MASK], 10% kept, 10% any word, and all places as often."""
    ids = [vocabulary.size - 1 - t for t in range(18)]
    tokens = [vocabulary.cls_id, *ids[:9], vocabulary.sep_id, *ids[9:], vocabulary.sep_id]
    record = Record(tokens, [True] * len(tokens))
    config = config_of(tmp_path, [record] * NUM_RECORDS, vocabulary, num_epochs=100)
    places, shares, words = Counter(), Counter(), Counter()
    for shown, positions, labels in masked_rows(config):
        assert len(positions) == 5  # of 21 * 0.3 = 6.3, no more than allowed
        assert [tokens[t] for t in positions] == list(labels)
        places.update(positions)
        for t in positions:
            kind = "masked" if shown[t] == vocabulary.mask_id else "replaced"
            shares["kept" if shown[t] == tokens[t] else kind] += 1
            words[shown[t]] += kind == "replaced"
    num_chosen = sum(shares.values())
    assert num_chosen == NUM_RECORDS * 100 * 5
    assert set(places) == set(range(21)) - {0, 10, 20}
    assert max(places.values()) < 1.15 * min(places.values())
    size = vocabulary.size
    for kind, share in (("masked", 0.8 + 0.1 / size), ("kept", 0.1 + 0.1 / size)):
        assert abs(shares[kind] / num_chosen - share) < 0.012
    assert len(words) >= size - 1


def make_sets(folder, text, vocabulary, **instances) -> None:
    """Makes a set of each layout, under its name."""
    for layout in ("ragged", "reference"):
        create_dataset(
            DatasetConfig(
                input_file=str(text),
                output_file=str(folder / layout),
                vocab_file=str(vocabulary),
                instances=InstanceConfig(max_seq_length=32, dupe_factor=1, **instances),
                record_layout=layout,
                num_examples=0,
            )
        )


def test_records_made_without_predictions(tmp_path, small_text, small_vocabulary):
    """As create_pretraining_data makes them with max_predictions_per_seq 0, once for all epochs."""
    make_sets(tmp_path, small_text, small_vocabulary, max_predictions_per_seq=0)
    choices = {
        "batch_size": 8,
        "batching": "pools",
        "max_predictions_per_seq": 6,
        "vocab_file": str(small_vocabulary),
        "dynamic_masking": True,
        "do_whole_word_mask": True,
        "num_epochs": 2,
    }
    rows = [
        masked_rows(ReaderConfig(input_patterns=str(tmp_path / layout), **choices))
        for layout in ("ragged", "reference")
    ]
    assert all(positions for _, positions, _ in rows[0])
    assert max(len(positions) for _, positions, _ in rows[0]) <= 6
    half = len(rows[0]) // 2
    assert rows[0][:half] != rows[0][half:]
    # Padded records have no row splits; the vocabulary says the same.
    assert rows[0] == rows[1]
    definition = tmp_path / "tokenizer.json"
    tokens = small_vocabulary.read_text(encoding="utf-8").splitlines()
    definition.write_text(tokenizer_json(tokens, do_lower_case=True), encoding="utf-8")
    choices["vocab_file"] = str(definition)
    assert masked_rows(ReaderConfig(input_patterns=str(tmp_path / "ragged"), **choices)) == rows[0]


def test_fewer_predictions_than_the_records_have(tmp_path, small_text, small_vocabulary):
    """The limit of dynamic masking is its own, with a manifest and with padded records."""
    make_sets(tmp_path, small_text, small_vocabulary)
    for name, batching in itertools.product(("ragged", "reference"), ("plain", "packed")):
        config = ReaderConfig(
            input_patterns=str(tmp_path / name),
            batch_size=8,
            batching=batching,
            max_predictions_per_seq=2,
            vocab_file=str(small_vocabulary),
        )
        with pytest.raises(ValueError, match="max_predictions_per_seq is 2, but the manifest of"):
            next(iterate_batches(config))
        rows = masked_rows(dataclasses.replace(config, dynamic_masking=True))
        assert {len(positions) for _, positions, _ in rows} == {2}


def test_what_a_run_is_told_by_includes_the_masks(tmp_path, records, vocabulary):
    config = config_of(tmp_path, records, vocabulary)
    description = describe_order(config)
    others = [
        {"dynamic_masking": False, "masked_lm_prob": MaskingConfig.masked_lm_prob},
        {"seed": 3},
        {"masked_lm_prob": 0.2},
        {"do_whole_word_mask": True},
        {"max_predictions_per_seq": 4},
    ]
    for other in others:
        assert describe_order(dataclasses.replace(config, **other)) != description


def test_refusals(tmp_path, records, vocabulary):
    with pytest.raises(ValueError, match="dynamic_masking is True; it needs planned batches"):
        config_of(tmp_path, records, vocabulary, batching="stream")
    with pytest.raises(ValueError, match="`dynamic_masking` needs `vocab_file` or `tokenizer_f"):
        config_of(tmp_path, records, vocabulary, vocab_file=None)
    with pytest.raises(ValueError, match=r"masked_lm_prob is 0\.3; it needs `dynamic_masking`"):
        config_of(tmp_path, records, vocabulary, dynamic_masking=False)
    with pytest.raises(ValueError, match=r"masked_lm_prob is 1\.5; 0 to 1 is allowed"):
        config_of(tmp_path, records, vocabulary, masked_lm_prob=1.5)
    config = config_of(tmp_path, records, vocabulary, "unmasked", max_predictions_per_seq=0)
    with pytest.raises(ValueError, match="max_predictions_per_seq is 0; it must be given, >= 1"):
        next(iterate_batches(config))


def test_compressed_shards_cannot_be_masked_anew(tmp_path, records, vocabulary):
    config = config_of(tmp_path, records, vocabulary)
    path = write_examples(tmp_path / "a.gz", [example(records[0], "masked", 0)], compression="GZIP")
    with pytest.raises(
        ValueError, match=r"dynamic_masking is True, but .*a.gz .*needs uncompressed"
    ):
        next(iterate_batches(dataclasses.replace(config, input_patterns=str(path))))


def test_a_stored_position_outside_of_its_record(tmp_path, records, vocabulary):
    damaged = tf.train.Example.FromString(example(records[0], "masked", 0))
    damaged.features.feature["masked_lm_positions"].int64_list.value[1] = 23
    path = write_examples(tmp_path / "damaged", [damaged.SerializeToString()])
    config = config_of(tmp_path, records, vocabulary, input_patterns=str(path))
    with pytest.raises(ValueError, match="predicts a position outside"):
        next(iterate_batches(config))
