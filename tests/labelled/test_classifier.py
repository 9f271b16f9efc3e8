"""A classifier learns with Keras' own loop, on batches of any width."""

from pathlib import Path

import numpy as np
import pytest

from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource, read_labelled_batches
from bert_data.labelled.classifier import load_encoder, text_classifier
from bert_data.reader.planning import PlanConfig
from bert_data.training import AdamWeightDecay
from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.model import pretraining_model
from tests.labelled.making import write_labelled
from tests.training.tiny import tiny_config


@pytest.mark.slow
def test_fit_learns_the_labels(tmp_path: Path, small_vocabulary: Path) -> None:
    plan = PlanConfig(batching="pools", batch_size=8, max_seq_length=16, shuffle=True)
    pattern = write_labelled(tmp_path, small_vocabulary, pairs=True)
    source = LabelledSource(
        LabelledReaderConfig(input_patterns=pattern, plan=plan, num_epochs=None)
    )
    config = tiny_config(vocab_size=70, max_position_embeddings=16, hidden_dropout_prob=0.05)
    model = text_classifier(config, num_labels=source.num_labels, random_seed=3)
    model.compile(AdamWeightDecay(3e-3))
    steps = source.plan.num_batches
    history = model.fit(
        read_labelled_batches(source), steps_per_epoch=20 * steps, epochs=3, verbose=0
    ).history
    assert history["loss"][-1] < history["loss"][0] / 2
    once = LabelledReaderConfig(input_patterns=pattern, plan=plan)
    loss, accuracy = model.evaluate(read_labelled_batches(once), verbose=0)
    assert accuracy > 0.9
    assert np.isfinite(loss)


def test_takes_the_weights_of_a_pretrained_encoder(tmp_path: Path) -> None:
    weights = pretraining_model(tiny_config(), random_seed=1).released_weights()
    values = {name: variable.numpy() for name, variable in weights.items()}
    prefix = save_checkpoint(str(tmp_path), 1, values, num_kept=1)
    model = text_classifier(tiny_config(), num_labels=2, random_seed=2)
    load_encoder(model, prefix)
    for variable in model.encoder.trainable_variables:
        name = variable.path.split("/", 1)[1]
        np.testing.assert_array_equal(variable.numpy(), values[name])
    with pytest.raises(ValueError, match="no checkpoint"):
        load_encoder(model, str(tmp_path / "none"))


def test_needs_labels() -> None:
    with pytest.raises(ValueError, match="num_labels is 1; 2 or more"):
        text_classifier(tiny_config(), num_labels=1)
    with pytest.raises(ValueError, match="there are 3 names of labels; num_labels is 2"):
        text_classifier(tiny_config(), num_labels=2, labels=("a", "b", "c"))
