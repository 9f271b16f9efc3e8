r"""Show records, token stores, curated texts or batches as readable text.

The first records of a set (settings that its manifest has need no flag):

    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt

    record 0  train-00000-of-00002:0
      A              [CLS] the [MASK](cat) sat on the mat [SEP]
      B              it was sunny(warm) . [SEP]
      next sentence  B follows A

The original of a token to predict follows in parentheses. The output begins with the lengths of the
records and the padding of each way to batch them. Records by number, at random, or with a word:

    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt \
        --record=17,40-42
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --seed=1
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt --word=cat

Documents of a token store, and the GPT samples that training would draw from a blend of two:

    bert-data inspect --input_file=web --tokenizer_file=tokenizer.json
    bert-data inspect --input_file=web,books --tokenizer_file=tokenizer.json \
        --seq_length=1024 --weights=0.7,0.3 --num_samples=1000

Curated documents, and why others were rejected:

    bert-data inspect --input_file=clean.jsonl.gz --word=cat
    bert-data inspect --input_file=ledger.clean.jsonl.gz.parquet \
        --word=gopher_quality

A batch of a training run that a recipe describes, with its masks:

    bert-data inspect --recipe=recipe.yaml --step=1000

For programs, and for a browser:

    bert-data inspect --input_file=train@2 --json | head -n 1
    bert-data inspect --input_file=train@2 --vocab_file=vocab.txt \
        --html=train.html

The input is TFRecord (also Google's, or gzipped), Parquet, token stores, or text in any format,
local or at a URI. Damage is noticed only in what is read to be shown; bert-data
check reads a whole set.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, flag, from_flags, settings
from bert_data.cli.shared_flags import (
    TOKENIZER_FILE,
    one_vocabulary,
    output_section,
    refuse_with_recipe,
    show_result,
    text_section,
)
from bert_data.inspection.configs import BatchConfig, Choice, SampleConfig, SourceConfig
from bert_data.text.text_config import TextConfig

if TYPE_CHECKING:
    from bert_data.inspection.readable_ids import TokenNames
    from bert_data.inspection.showing import Chosen
    from bert_data.inspection.sources.items import Source
    from bert_data.inspection.terminal import Terminal

FLAGS = flags.FLAGS

_COMMON = (
    "input_file recipe step vocab_file tokenizer_file record word seed num_records"  # for --help
)
_OF_SAMPLES = "seq_length weights num_samples split split_name seed cache_dir"
_CHANGES: dict[str, dict[str, Any]] = {
    name: {"default": None, "only_with": "seq_length"} for name in _OF_SAMPLES.split()
}
_CHANGES["seq_length"] = {"default": None}
_CHANGES["seed"] |= {"name": "sample_seed", "more_help": " By default 1234."}
_SAMPLES = settings(SampleConfig, _OF_SAMPLES, changes=_CHANGES)
"""Of the samples of stores; `seed` is that of a random choice."""

SECTIONS = (
    Section(
        "",
        (
            *settings(SourceConfig, changes={"input_file": {"default": None}}),
            flag("vocab_file", None, "The vocabulary, to show words; without it, ids are shown."),
            TOKENIZER_FILE,
            *_SAMPLES,
            *settings(
                BatchConfig, changes={"recipe": {"default": None}, "step": {"only_with": "recipe"}}
            ),
            *settings(Choice),
        ),
    ),
    text_section(),
    output_section("Write JSON Lines, one record per line."),
)


def main(_: Sequence[str]) -> int:
    """Show the chosen records; return the exit status, 1 if damage was shown."""
    from bert_data.inspection.batchings import show_batchings
    from bert_data.inspection.showing import (
        check_made_with,
        choose,
        rows_of,
        show_items,
        show_source,
    )
    from bert_data.inspection.sources.instances import InstanceSource

    choice = from_flags(Choice)
    if (FLAGS.input_file is None) == (FLAGS.recipe is None):
        raise ValueError("set one of `input_file` and `recipe`")
    title: str = FLAGS.input_file or FLAGS.recipe
    source, words = _open_source() if FLAGS.recipe is None else _open_batch()
    check_made_with(source, words)

    def chosen() -> "Iterator[Chosen]":
        item = None
        for item in choose(source, choice, words):
            yield item
        if item is None:
            those = f" with {FLAGS.word!r}" if FLAGS.word is not None else ""
            name = "input_file" if FLAGS.recipe is None else "recipe"
            raise ValueError(f"`{name}={title}` holds no {source.description.unit}{those}")

    is_damaged = False

    def show(output: "Terminal", items: "Iterator[Chosen]") -> None:
        nonlocal is_damaged
        show_source(output, source, words)
        if isinstance(source, InstanceSource):
            is_damaged = show_batchings(output, source)
        show_items(output, source, items, words, choice.max_tokens)

    reads = [*source.paths, *filter(None, [words.path])]
    show_result(title, reads, chosen, show, lambda items: rows_of(source, items, words))
    return int(is_damaged)


def _open_source() -> "tuple[Source, TokenNames]":
    from bert_data.inspection.readable_ids import load_words
    from bert_data.inspection.sources.opening import open_source

    values = {each.name: FLAGS[each.name].value for each in _SAMPLES}
    given = {name: value for name, value in values.items() if value is not None}
    if "sample_seed" in given:
        given["seed"] = given.pop("sample_seed")
    config = SourceConfig(
        input_file=FLAGS.input_file,
        text=from_flags(TextConfig, keep_fields=True),
        next_sentence=FLAGS.next_sentence,
        samples=SampleConfig(**given) if given else None,
    )
    source = open_source(config)
    vocabulary = one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    description = source.description
    return source, load_words(vocabulary, description.special_tokens, words=description.words)


def _open_batch() -> "tuple[Source, TokenNames]":
    from bert_data.inspection.readable_ids import load_words
    from bert_data.inspection.sources.recipe_batches import RecipeBatchSource

    refuse_with_recipe("vocab_file tokenizer_file next_sentence seq_length")
    source = RecipeBatchSource(from_flags(BatchConfig))
    return source, load_words(source.vocab_path)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON}, is_filter=True)
