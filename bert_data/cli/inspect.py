r"""Show what is in a set of records, a token store or a curated text, as words.

The first records of a set (what its manifest tells need not be named):

    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt

    record 0  train-00000-of-00002:0
      A              [CLS] the [MASK](cat) sat on the mat [SEP]
      B              it was sunny(warm) . [SEP]
      next sentence  B follows A

A token to predict is followed by what it was, in parentheses. By number, at random, or by a word:

    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --record=17,40-42
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --seed=1
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --word=cat

Documents of a token store, and the GPT samples that training would draw from a blend of two:

    bert-data inspect --input_file=web --tokenizer_file=tokenizer.json
    bert-data inspect --input_file=web,books --tokenizer_file=tokenizer.json \
        --seq_length=1024 --weights=0.7,0.3 --num_samples=1000

Curated documents, and why others were rejected:

    bert-data inspect --input_file=clean.jsonl.gz --word=cat
    bert-data inspect --input_file=ledger.clean.jsonl.gz.parquet@8 --word=gopher_quality

For programs, and for a browser:

    bert-data inspect --input_file=train@2 --json | head -n 1
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --html=train.html

Files may be TFRecord (with or without index and manifest, Google's too, gzip), Parquet, token
stores, and all formats of text; local, or URIs.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from absl import flags

from bert_data.cli import entry, output_flags, source_flags

if TYPE_CHECKING:
    from bert_data.inspection.content import Output
    from bert_data.inspection.showing import Chosen

FLAGS = flags.FLAGS

_COMMON = "input_file vocab_file tokenizer_file record word seed num_records"  # for --help

source_flags.define_source_flags()
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
output_flags.define_output_flags("Write JSON Lines: a record in each line.")


def main(_: Sequence[str]) -> None:
    """Show the chosen records."""
    from bert_data.inspection.showing import (
        Choice,
        check_vocabulary,
        choose,
        describe,
        rows_of,
        show_items,
    )

    choice = Choice(
        numbers=FLAGS.record,
        num_items=FLAGS.num_records,
        seed=FLAGS.seed,
        word=FLAGS.word,
        do_lower_case=FLAGS.do_lower_case,
    )
    source, words = source_flags.open_source()
    check_vocabulary(source, words)

    def chosen() -> "Iterator[Chosen]":
        item = None
        for item in choose(source, choice, words):
            yield item
        if item is None:
            those = f" with {FLAGS.word!r}" if FLAGS.word is not None else ""
            raise ValueError(
                f"--input_file={FLAGS.input_file} holds no {source.description.unit}{those}"
            )

    def show(output: "Output", items: "Iterator[Chosen]") -> None:
        describe(output, source, words)
        show_items(output, source, items, words, FLAGS.max_tokens)

    reads = [*source.paths, *filter(None, [words.path])]
    output_flags.show_result(
        FLAGS.input_file, reads, chosen, show, lambda items: rows_of(source, items, words)
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
