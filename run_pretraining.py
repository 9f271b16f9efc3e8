r"""Pretrain a BERT on records, and evaluate it, with Google's flags and some more.

    python run_pretraining.py --bert_config_file=bert_config.json \
        --input_file='data/train-*' --output_dir=out --do_train --do_eval

Run again with the same flags, it continues from the last checkpoint in --output_dir. On Ctrl-C and
SIGTERM it finishes the current step, saves a checkpoint and ends with a non-zero status.

`bert_data.cli.train` is the same as a command: `bert-data train`.
"""

from bert_data import interrupts

if __name__ == "__main__":
    interrupts.end_imports_on_signals()

from bert_data.cli.entry import run
from bert_data.cli.train import GROUPS, main

if __name__ == "__main__":
    run(main, groups=GROUPS)
