"""A model trained and exported from Python objects."""

import json

import numpy as np
import pytest

import bert_data

pytestmark = [pytest.mark.process, pytest.mark.slow]  # importing TensorFlow starts one

SIZES = {
    "hidden_size": np.int64(8), "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 2,
}  # fmt: skip


def test_from_records_to_a_folder_of_hugging_face(
    tmp_path, monkeypatch, small_text, small_vocabulary
):
    monkeypatch.chdir(tmp_path)
    records = bert_data.create_records(
        small_text, "train", vocab_file=small_vocabulary, max_seq_length=32, dupe_factor=1
    )
    size = len(small_vocabulary.read_text().split())
    trained = bert_data.train(
        records, tmp_path / "model", bert_config={**SIZES, "vocab_size": np.int64(size)},
        num_train_steps=np.int64(2), batch_size=4, eval_files="train", weight_decay=0.0,
    )  # fmt: skip
    assert (trained.step, trained.checkpoint) == (2, str(tmp_path / "model" / "model.ckpt-2"))
    assert 0 < trained.results["masked_lm_loss"] < 10
    # The same call again finds the training done.
    again = bert_data.train(
        "train", "model", bert_config="model/bert_config.json", num_train_steps=1, batch_size=4
    )
    assert (again.step, again.results) == (2, {})
    same = [model.get_weights()[0] for model in (trained.model, again.model)]
    np.testing.assert_array_equal(*same)
    report = bert_data.export_hf(trained, tmp_path / "hf", vocab_file=small_vocabulary)
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["vocab_size"] == size
    assert report.num_parameters > 0
    bert_data.export_hub(None, "hub", vocab_file=small_vocabulary, seq_length=np.int32(16))
    assert (tmp_path / "hub" / "preprocess" / "saved_model.pb").is_file()
    batch = next(iter(bert_data.read_batches(records, batch_size=np.int64(3), shuffle=False)))
    assert batch["input_ids"].shape[0] == 3


def test_a_recipe_is_trained_to_its_end_and_goes_on(tmp_path, small_text, small_vocabulary):
    store = str(tmp_path / "store")
    bert_data.tokenize(small_text, store, vocab_file=small_vocabulary, level="sentence")
    held_out = bert_data.create_records(
        store, tmp_path / "held-out", vocab_file=small_vocabulary, max_seq_length=32,
        next_sentence="none", short_seq_prob=0.0, dupe_factor=1,
    )  # fmt: skip
    size = len(small_vocabulary.read_text().split())
    stages = [
        bert_data.Stage(steps=3, max_seq_length=16, batch_size=3, batching="plain"),
        bert_data.Stage(steps=2, max_seq_length=32, batching="packed"),
    ]

    def train(count, **options):
        recipe = bert_data.Recipe(
            vocab_file=str(small_vocabulary), stores={"a": store}, stages=tuple(stages[:count])
        )
        model = {**SIZES, "vocab_size": size}
        return bert_data.train(recipe, tmp_path / "model", bert_config=model, **options)

    assert train(2, num_train_steps=2).step == 2
    assert train(1).step == 3
    trained = train(2, eval_files=held_out, weight_decay=0.0)
    assert trained.step == 5
    assert 0 < trained.results["masked_lm_loss"] < 10
    with pytest.raises(ValueError, match="batch_size is 8; a recipe has sizes of its own"):
        train(2, batch_size=8)
    with pytest.raises(TypeError, match=r"train\(\) has no option 'skip_corrupt'"):
        train(2, skip_corrupt=True)
    with pytest.raises(TypeError, match="needs num_train_steps, as records have no end"):
        bert_data.train(held_out, tmp_path / "other", bert_config="tiny")
