r"""Train a text classifier, a pretrained or new BERT, on records of bert-data label.

    bert-data fine-tune --input_file='train-*' --eval_input_file='test-*' \
        --output_file=model.keras

    # fine-tune a pretrained BERT, with batches of one fixed width
    bert-data fine-tune --input_file='train-*' --eval_input_file='test-*' \
        --bert_config_file=uncased/bert_config.json \
        --init_checkpoint=uncased/bert_model.ckpt \
        --learning_rate=2e-5 --batch_width=fixed

    # records of another program, with the text in the feature `summary`
    bert-data fine-tune --input_file='train-*.tfrecord' --vocab_file=vocab.txt \
        --text_features=summary --label_feature=label

Texts are packed as [CLS] text [SEP], pairs as [CLS] text [SEP] text [SEP]. Records without a
manifest must hold the tokens of a text as `TEXT_tokens_values`, `TEXT_tokens_splits_0` and so on,
and an integer label; one pass before training reads their lengths.
"""

from collections.abc import Sequence

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.labelled.fine_tuning_config import FineTuningConfig
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.settings import settings_of

_COMMON = (
    "input_file eval_input_file output_file bert_config_file init_checkpoint batch_width batch_size"
    " max_seq_length num_epochs learning_rate overwrite"
)
_NAMES = " ".join(settings_of(FineTuningConfig))
_LIST = {"kind": list[str], "default": []}
SECTIONS = (Section("", settings(FineTuningConfig, _NAMES, changes={"text_features": _LIST})),)


def main(_: Sequence[str]) -> None:
    """Train as the flags say."""
    config = from_flags(FineTuningConfig)
    import_tensorflow()
    from bert_data.labelled.fine_tuning import fine_tune

    fine_tune(config)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
