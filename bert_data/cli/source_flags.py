"""The flags that name a set, a store or a text to look at, and its vocabulary."""

from typing import TYPE_CHECKING, Any

from absl import flags

from bert_data.cli import text_flags
from bert_data.cli.flag_values import from_flags, numbers_of
from bert_data.cli.tokenizer_flags import one_vocabulary
from bert_data.objectives.next_sentence import OBJECTIVES
from bert_data.text.documents import TextConfig

if TYPE_CHECKING:
    from bert_data.inspection.sources.items import Source
    from bert_data.inspection.sources.opening import SampleConfig
    from bert_data.inspection.words import Words

FLAGS = flags.FLAGS

_SAMPLE_FLAGS = ("weights", "num_samples", "split", "split_name", "sample_seed", "cache_dir")


def define_record_flags(
    input_help: str = "Shards: files, patterns or set@N, separated by commas.",
) -> None:
    """Define the flags that name records and say what they ask."""
    flags.DEFINE_string("input_file", None, input_help, required=True)
    flags.DEFINE_enum(
        "next_sentence",
        None,
        list(OBJECTIVES),
        "The records' task for two segments, if no manifest says it.",
    )


def define_source_flags() -> None:
    """Define the flags for `open_source`."""
    define_record_flags(
        "Records, token stores or texts: files, patterns or set@N, separated by commas. A token"
        " store is named without .bin and .idx."
    )
    flags.DEFINE_string(
        "vocab_file", None, "The vocabulary, to show words; without it, ids are shown."
    )
    flags.DEFINE_string(
        "tokenizer_file",
        None,
        "A tokenizer.json, .model or .tiktoken file in place of --vocab_file.",
    )
    text_flags.define_text_flags()
    _define_sample_flags()


def _define_sample_flags() -> None:
    """Define the flags that say how GPT samples are made of token stores."""
    flags.DEFINE_integer(
        "seq_length",
        None,
        "Look at the GPT samples of this length that training draws from token stores, as"
        " build_samples makes them.",
    )
    flags.DEFINE_string(
        "weights", None, "With --seq_length: weight of each store in a blend, such as 0.7,0.3."
    )
    flags.DEFINE_string("num_samples", None, "With --seq_length: samples of train, valid and test.")
    flags.DEFINE_string(
        "split", None, "With --seq_length: shares of train, valid and test, such as 969,30,1."
    )
    flags.DEFINE_enum(
        "split_name", None, ["train", "valid", "test"], "With --seq_length: the split to show."
    )
    flags.DEFINE_integer(
        "sample_seed", None, "With --seq_length: --seed of build_samples, by default 1234."
    )
    flags.DEFINE_string("cache_dir", None, "With --seq_length: folder that keeps the indices.")


def open_source(path: str | None = None, vocabulary: str | None = None) -> "tuple[Source, Words]":
    """Open what the flags name: return the source, and the words of its vocabulary.

    Args:
      path: replaces --input_file.
      vocabulary: replaces --vocab_file and --tokenizer_file.
    """
    from bert_data.inspection.sources import opening
    from bert_data.inspection.words import load_words

    vocabulary = vocabulary or one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    config = opening.SourceConfig(
        input_file=FLAGS.input_file if path is None else path,
        text=from_flags(TextConfig, keep_fields=True),
        next_sentence=FLAGS.next_sentence,
        samples=_sample_config(),
    )
    source = opening.open_source(config)
    return source, load_words(vocabulary, source.description.special_tokens)


def _sample_config() -> "SampleConfig | None":
    from bert_data.inspection.sources.opening import SampleConfig

    values: dict[str, Any] = {name: FLAGS[name].value for name in _SAMPLE_FLAGS}
    options = {name: value for name, value in values.items() if value is not None}
    if FLAGS.seq_length is None:
        if options:
            raise ValueError(f"--{next(iter(options))} needs --seq_length")
        return None
    options |= {
        "weights": numbers_of("weights", float),
        "num_samples": numbers_of("num_samples", int),
    }
    if "sample_seed" in options:
        options["seed"] = options.pop("sample_seed")
    return SampleConfig(seq_length=FLAGS.seq_length, **options)
