"""A small BERT of byte-level BPE, from text to falling losses."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.datasets.config import DatasetConfig
from bert_data.datasets.masked_lm import create_dataset
from bert_data.inspection.check import check_set
from bert_data.inspection.configs import CheckConfig
from bert_data.objectives.making import InstanceConfig
from bert_data.reader import ReaderConfig, read_batches
from bert_data.tokens.tokenizer_file import read_vocabulary
from bert_data.tokens.tokenizer_training import write_vocabulary
from bert_data.tokens.vocabulary_training import VocabularyTrainingConfig
from bert_data.tokens.word_rules import BPE
from bert_data.training import TrainingConfig, train
from bert_data.training.steps import TrainingReport
from tests.training.tiny import tiny_config

SIZE = 330


@pytest.mark.slow
def test_records_with_whole_words_train_a_model(small_text: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "tokenizer.json")
    config = VocabularyTrainingConfig(
        input_files=(str(small_text),), vocab_size=SIZE, model=BPE, work_dir=f"{path}.work"
    )
    write_vocabulary(config, path, overwrite=False)
    records = str(tmp_path / "r.tfrecord")
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=records,
            tokenizer_file=path,
            instances=InstanceConfig(
                max_seq_length=48, max_predictions_per_seq=8, do_whole_word_mask=True
            ),
            num_workers=1,
        )
    )
    report = check_set(CheckConfig(input_patterns=records, vocab_file=path, num_workers=1))
    assert not report.is_harmful

    data = ReaderConfig(
        input_patterns=records,
        batch_size=16,
        batching="pools",
        num_epochs=None,
        vocab_file=path,
        dynamic_masking=True,
        do_whole_word_mask=True,
    )
    _check_words(next(iter(read_batches(data).as_numpy_iterator())), path)
    reports: list[TrainingReport] = []
    run = TrainingConfig(
        output_dir=str(tmp_path / "model"), num_train_steps=25, batch_size=16, learning_rate=3e-2,
        num_warmup_steps=2,
    )  # fmt: skip

    def make_batches(start: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        return read_batches(data, input_context=context).skip(start)

    # A model without segments: one embedding, for A.
    model = tiny_config(
        vocab_size=SIZE, hidden_size=16, max_position_embeddings=48, type_vocab_size=1,
        initializer_range=0.02,
    )  # fmt: skip
    train(run, model, make_batches, observers=[reports.append])
    losses = [loss for each in reports for loss in each.losses]
    assert np.isfinite(losses).all() and np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.5


def _check_words(batch: dict[str, np.ndarray], path: str) -> None:
    """Whole words are predicted: their first tokens with all that continue them."""
    vocabulary = read_vocabulary(path)
    ids = batch["input_ids"].copy()
    is_predicted = np.zeros(ids.shape, np.bool_)
    for row, (places, labels, weights) in enumerate(
        zip(
            batch["masked_lm_positions"],
            batch["masked_lm_ids"],
            batch["masked_lm_weights"],
            strict=True,
        )
    ):
        chosen = places[weights > 0]
        ids[row, chosen] = labels[weights > 0]
        is_predicted[row, chosen] = True
    assert vocabulary.mask_id in batch["input_ids"]
    bits = vocabulary.word_bits
    joined = (bits[ids[:, 1:-1]] >> 8 & bits[ids[:, 2:]] & 0xFF) != 0
    assert (is_predicted[:, 1:-1] == is_predicted[:, 2:])[joined].all()
    assert (joined & is_predicted[:, 2:]).any()
