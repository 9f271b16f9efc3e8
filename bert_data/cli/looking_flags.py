"""The flags that name a set, a store or a text to look at, and its vocabulary."""

from typing import TYPE_CHECKING, Any

from absl import flags

from bert_data.cli.settings_flags import Section, flag, from_flags, numbers_of, settings
from bert_data.cli.shared_flags import TOKENIZER_FILE, one_vocabulary
from bert_data.inspection.configs import SampleConfig, SourceConfig
from bert_data.settings import Within
from bert_data.text.documents import TextConfig

if TYPE_CHECKING:
    from bert_data.inspection.sources.items import Source
    from bert_data.inspection.words import Words

FLAGS = flags.FLAGS

_SAMPLE_NAMES = "weights num_samples split split_name sample_seed cache_dir"
_NOT_SET = {"default": None}  # the defaults are those of `SampleConfig`
_TEXT = {"kind": str, "default": None}

MAX_TOKENS = flag(
    "max_tokens",
    1024,
    "Tokens of a text to show; `json` writes all.",
    constraint=Within(1),
)
SOURCE = Section(
    "",
    (
        *settings(SourceConfig),
        flag("vocab_file", None, "The vocabulary, to show words; without it, ids are shown."),
        TOKENIZER_FILE,
        *settings(
            SampleConfig,
            f"seq_length {_SAMPLE_NAMES}",
            changes={
                "seq_length": _NOT_SET,
                "weights": _TEXT,
                "num_samples": _TEXT,
                "split": _NOT_SET,
                "split_name": _NOT_SET,
                "sample_seed": {"default": None, "more_help": " By default 1234."},
            },
        ),
    ),
)
"""Of a set, a store or a text."""


def open_source(path: str | None = None, vocabulary: str | None = None) -> "tuple[Source, Words]":
    """Open what the flags name: return the source, and the words of its vocabulary.

    Args:
      path: replaces --input_file.
      vocabulary: replaces --vocab_file and --tokenizer_file.
    """
    from bert_data.inspection.sources import opening
    from bert_data.inspection.words import load_words

    vocabulary = vocabulary or one_vocabulary(FLAGS.vocab_file, FLAGS.tokenizer_file)
    config = SourceConfig(
        input_file=FLAGS.input_file if path is None else path,
        text=from_flags(TextConfig, keep_fields=True),
        next_sentence=FLAGS.next_sentence,
        samples=_sample_config(),
    )
    source = opening.open_source(config)
    return source, load_words(vocabulary, source.description.special_tokens)


def _sample_config() -> SampleConfig | None:
    values: dict[str, Any] = {name: FLAGS[name].value for name in _SAMPLE_NAMES.split()}
    options = {name: value for name, value in values.items() if value is not None}
    if FLAGS.seq_length is None:
        if options:
            raise ValueError(f"{next(iter(options))} needs `seq_length`")
        return None
    numbers = {
        "weights": numbers_of("weights", float),
        "num_samples": numbers_of("num_samples", int),
    }
    return SampleConfig(seq_length=FLAGS.seq_length, **(options | numbers))
