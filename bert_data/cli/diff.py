r"""Compare two sets of records, token stores or texts: what made them, and what they hold.

    bert-data diff --input_file=train@2 --other_file=train.parquet \
        --vocab_file=vocab.txt

    input  masked LM records of train-00000-of-00002 and 1 more
    other  masked LM records of train.parquet

    The two differ
    999 of 1,000 records are equal in order (99.9%), 999 in any order (99.9%).
    ...
    record 17 is the first that differs, in masked_lm_ids

Records are compared by their content, so that TFRecord and Parquet, padded and unpadded records can
be compared. With two vocabularies (--other_vocab_file) it says which of their tokens differ.

    bert-data diff --input_file=web --other_file=megatron/web          # token stores
    bert-data diff --input_file=a.jsonl.gz --other_file=b.jsonl.gz     # texts
    bert-data diff --input_file=A --other_file=B --html=diff.html      # with plots

The exit status is 0 if all records are equal, in order, and the vocabularies are not known to
differ; 1 if they differ; and 2 for an error. Differences of other settings are only shown.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags

from bert_data.cli import entry
from bert_data.cli.looking_flags import MAX_TOKENS, SOURCE, open_source, output_section, show_result
from bert_data.cli.settings_flags import Section, check_flags, flag
from bert_data.cli.shared_flags import text_section
from bert_data.settings import REQUIRED

if TYPE_CHECKING:
    from bert_data.inspection.comparing import Comparison
    from bert_data.inspection.content import Medium

FLAGS = flags.FLAGS

_COMMON = "input_file other_file vocab_file"  # for --help
SECTIONS = (
    SOURCE,
    Section(
        "",
        (
            flag("other_file", REQUIRED, "What `input_file` is compared with, in the same form."),
            flag(
                "other_vocab_file",
                None,
                "The vocabulary or tokenizer.json of `other_file`, if it is another.",
            ),
            MAX_TOKENS,
        ),
    ),
    text_section(),
    output_section("Write one JSON object."),
)

_EQUAL, _DIFFERENT, _ERROR = 0, 1, 2


def main(_: Sequence[str]) -> int:
    """Compare; return the exit status."""
    from bert_data.inspection.comparing import as_json, compare, show_comparison
    from bert_data.inspection.readable_ids import load_words
    from bert_data.inspection.showing import check_vocabulary, fits

    check_flags("max_tokens")
    if not FLAGS.other_file:
        raise ValueError("other_file is ''; it must name files")
    one, words = open_source()
    other, other_words = open_source(FLAGS.other_file, FLAGS.other_vocab_file)
    sources, both_words = (one, other), (words, other_words)
    check_vocabulary(one, words)
    if FLAGS.other_vocab_file:
        check_vocabulary(other, other_words, flag="other_vocab_file")
    elif not fits(other, other_words):
        both_words = (words, load_words(None))

    def show(output: "Medium", comparison: "Comparison") -> None:
        show_comparison(output, sources, comparison, both_words, FLAGS.max_tokens)

    comparison = show_result(
        f"{FLAGS.input_file} and {FLAGS.other_file}",
        [*one.paths, *other.paths, *(each.path for each in both_words if each.path)],
        lambda: compare(one, other, both_words),
        show,
        lambda comparison: as_json(sources, comparison, both_words),
    )
    return _EQUAL if comparison.is_equal else _DIFFERENT


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True, error_status=_ERROR)
