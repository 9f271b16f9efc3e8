"""The configuration of fine-tuning, which needs no TensorFlow."""

import dataclasses
from typing import Annotated

from bert_data.settings import OneOf, Within, check_settings

WIDTHS = {
    "fixed": {"width": "max"},
    "longest": {},
    "pools": {"batching": "pools"},
    "buckets": {"batching": "buckets"},
}
"""Ways to choose the width of a batch, and what a plan calls them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuningConfig:
    """Configuration of `fine_tune`.

    Attributes:
      input_file: training records: files or patterns, separated by commas.
      eval_input_file: records to evaluate on, with the same vocabulary and classes.
      output_file: where to save the model. A name that ends with .keras saves the whole model, for
        Keras's load_model and for the step model_score of curate; any other saves the weights
        alone, for load_weights. By default nothing is saved.
      overwrite: replace an existing output.
      vocab_file: vocabulary, or tokenizer.json, of the records: needed for records without a
        manifest, such as those of another program; otherwise compared with the manifest.
      text_features: name of the text in records without a manifest; for pairs two, separated by a
        comma. By default text.
      label_feature: name of the label in records without a manifest; by default label.
      bert_config_file: JSON file with the sizes of the encoder, or the name of sizes that Google
        published, such as mini; by default, 2 layers of width 128.
      init_checkpoint: pretrained weights of the encoder: a released checkpoint, one of `train`, or
        a Hugging Face folder.
      batch_width: how wide a batch is. fixed: `max_seq_length`. longest: as wide as its longest
        row, in random order. pools: the same, with rows sorted by length in pools of 64 batches,
        which leaves hardly any padding. buckets: one of eight widths that fit the lengths, for XLA.
      batch_size: rows per batch.
      max_seq_length: largest number of tokens in a row, including [CLS] and [SEP]; longer texts are
        truncated, in pairs the longer one first.
      num_epochs: passes over the records.
      learning_rate: peak learning rate of Adam.
      warmup_proportion: share of the steps over which the learning rate rises.
      random_seed: seed of the new weights, of dropout and of the order of records.
    """

    input_file: str
    eval_input_file: str | None = None
    output_file: str | None = None
    overwrite: bool = False
    vocab_file: str | None = None
    text_features: tuple[str, ...] = ()
    label_feature: str | None = None
    bert_config_file: str | None = None
    init_checkpoint: str | None = None
    batch_width: Annotated[str, OneOf(tuple(WIDTHS))] = "pools"
    batch_size: Annotated[int, Within(1)] = 32
    max_seq_length: Annotated[int, Within(1)] = 128
    num_epochs: Annotated[int, Within(1, 1_000_000)] = 3
    learning_rate: Annotated[float, Within(1e-12, 1000)] = 4e-4
    warmup_proportion: Annotated[float, Within(0, 0.999)] = 0.1
    random_seed: Annotated[int, Within(-(2**63), 2**63 - 1)] = 12345

    def __post_init__(self) -> None:
        check_settings(self)
