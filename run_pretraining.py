r"""Pretrain a BERT on records, and evaluate it, with Google's flags and some more.

    python run_pretraining.py --bert_config_file=bert_config.json \
        --input_file='data/train-*' --output_dir=out --do_train --do_eval

Run again with the same flags, it continues from the last checkpoint in --output_dir. On Ctrl-C and
SIGTERM it finishes the current step, saves a checkpoint and ends with a non-zero status.

`bert-data train` is the same command, but for the default of --do_train, which is Google's here.
"""

from bert_data import interrupts

if __name__ == "__main__":
    interrupts.end_imports_on_signals()

from collections.abc import Sequence

from bert_data.cli.entry import run
from bert_data.cli.train import FLAGS, GROUPS, SECTIONS, train_and_evaluate

__all__ = ["SECTIONS", "main"]


def main(_: Sequence[str]) -> None:
    """Train and evaluate as the flags say, which must say one of the two."""
    if not (FLAGS.do_train or FLAGS.do_eval):
        raise ValueError("at least one of --do_train and --do_eval must be true")
    train_and_evaluate()


if __name__ == "__main__":
    run(main, groups=GROUPS)
