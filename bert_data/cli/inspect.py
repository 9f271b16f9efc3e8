r"""Show what is in a set of records, a token store or a curated text, as words.

The first records of a set (what its manifest tells need not be named):

    python -m bert_data.cli.inspect --input_file=train@2 --vocab_file=vocab.txt

    record 0  train-00000-of-00002:0
      A              [CLS] the [MASK](cat) sat on the mat [SEP]
      B              it was sunny(warm) . [SEP]
      next sentence  B follows A

A token to predict is followed by what it was, in parentheses. By number, at random, or by a word:

    python -m bert_data.cli.inspect --input_file=train@2 --vocab_file=vocab.txt --record=17,40-42
    python -m bert_data.cli.inspect --input_file=train@2 --vocab_file=vocab.txt --seed=1
    python -m bert_data.cli.inspect --input_file=train@2 --vocab_file=vocab.txt --word=cat

Documents of a token store, and the GPT samples that training would draw from a blend of two:

    python -m bert_data.cli.inspect --input_file=web --tokenizer_file=tokenizer.json
    python -m bert_data.cli.inspect --input_file=web,books --tokenizer_file=tokenizer.json \
        --seq_length=1024 --weights=0.7,0.3 --num_samples=1000

Curated documents, and why others were rejected:

    python -m bert_data.cli.inspect --input_file=clean.jsonl.gz --word=cat
    python -m bert_data.cli.inspect --input_file=ledger.clean.jsonl.gz.parquet --word=gopher_quality

For programs, and for a browser:

    python -m bert_data.cli.inspect --input_file=train@2 --json | head -n 1
    python -m bert_data.cli.inspect --input_file=train@2 --vocab_file=vocab.txt --html=train.html

Files may be TFRecord (with or without index and manifest, Google's too, gzip), Parquet, token
stores, and all formats of text; local, or URIs.
"""

import sys
from collections.abc import Sequence

from absl import flags

from bert_data.cli import entry, source_flags, text_flags

FLAGS = flags.FLAGS

SOURCE = source_flags.define_source_flags()
flags.adopt_module_key_flags(source_flags)  # for --help
flags.adopt_module_key_flags(text_flags)
flags.DEFINE_string(
    "record", None, "Numbers of records (documents, samples, entries), from 0: 17,40-42."
)
flags.DEFINE_integer("seed", None, "Draw --num_records records at random, by this seed.")
flags.DEFINE_string("word", None, "Show records that contain this word, or these words in a row.")
flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Lower-case the word and drop accents; by default as the manifest says, or else yes.",
)
flags.DEFINE_integer("num_records", 5, "Records to show, if --record does not name them.")
flags.DEFINE_integer(
    "max_tokens", 1024, "Tokens of a text to show; --json writes all.", lower_bound=1
)
flags.DEFINE_bool("json", False, "Write JSON Lines: a record in each line.")
flags.DEFINE_string("html", None, "Write a self-contained page to this file instead.")
flags.DEFINE_bool("overwrite", False, "Replace the file of --html.")


def main(argv: Sequence[str]) -> None:
    """Show the chosen records."""
    del argv  # entry.run refuses what is not a flag
    if FLAGS.json and FLAGS.html:
        raise ValueError("--json and --html are both set; choose one")
    # Imported here so that --help and a mistyped flag are answered at once.
    from bert_data.inspection.choosing import Choice, choose
    from bert_data.inspection.page import open_page
    from bert_data.inspection.showing import check_vocabulary, describe, show_items, write_rows
    from bert_data.inspection.terminal import Terminal

    choice = Choice(
        numbers=FLAGS.record,
        num_items=FLAGS.num_records,
        seed=FLAGS.seed,
        word=FLAGS.word,
        do_lower_case=FLAGS.do_lower_case,
    )
    source, words = SOURCE()
    check_vocabulary(source, words)
    chosen = choose(source, choice, words)
    if FLAGS.json:
        num_shown = write_rows(sys.stdout, source, chosen, words)
    elif FLAGS.html:
        with open_page(
            FLAGS.html,
            f"{FLAGS.input_file}",
            reads=[*source.paths, *filter(None, [words.path])],
            overwrite=FLAGS.overwrite,
        ) as page:
            describe(page, source, words)
            num_shown = show_items(page, source, chosen, words, FLAGS.max_tokens)
    else:
        terminal = Terminal(sys.stdout)
        describe(terminal, source, words)
        num_shown = show_items(terminal, source, chosen, words, FLAGS.max_tokens)
    if not num_shown:
        those = f" with {FLAGS.word!r}" if FLAGS.word is not None else ""
        raise ValueError(
            f"--input_file={FLAGS.input_file} holds no {source.description.unit}{those}"
        )


if __name__ == "__main__":
    entry.run(main, is_filter=True)
