"""The flags that name a set, a store or a text to look at, and its vocabulary."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from absl import flags

from bert_data.cli import text_flags
from bert_data.cli.tokenizer_flags import one_vocabulary
from bert_data.objectives.next_sentence import NEXT_SENTENCE

if TYPE_CHECKING:
    from bert_data.inspection.sources.items import Source
    from bert_data.inspection.sources.opening import SampleConfig
    from bert_data.inspection.words import Words


def define_source_flags() -> Callable[..., "tuple[Source, Words]"]:
    """Define the flags.

    Returns:
      A function that opens what the flags name, once they are parsed: the source, and the words of
      its vocabulary. Its arguments, a path and a vocabulary, replace those of the flags.
    """
    values: dict[str, flags.FlagHolder[Any]] = {
        "input_file": flags.DEFINE_string(
            "input_file", None,
            "Records, token stores or texts: files, patterns or set@N, separated by commas. A token"
            " store is named without .bin and .idx.", required=True,
        ),
        "vocab_file": flags.DEFINE_string(
            "vocab_file", None, "The vocabulary, to show words; without it, ids are shown."
        ),
        "tokenizer_file": flags.DEFINE_string(
            "tokenizer_file", None,
            "A tokenizer.json, .model or .tiktoken file in place of --vocab_file.",
        ),
        "next_sentence": flags.DEFINE_enum(
            "next_sentence", None, NEXT_SENTENCE,
            "The records' task for two segments, if no manifest says it.",
        ),
    }  # fmt: skip
    text = text_flags.define_text_flags()
    sample_config = _define_sample_flags()

    def open_source(
        path: str | None = None, vocabulary: str | None = None
    ) -> "tuple[Source, Words]":
        # Imported here so that --help and a mistyped flag are answered at once.
        from bert_data.inspection.sources import opening
        from bert_data.inspection.words import load_words

        its_own = {name: flag.value for name, flag in values.items()}
        its_vocabulary = one_vocabulary(its_own["vocab_file"], its_own["tokenizer_file"])
        config = opening.SourceConfig(
            input_file=its_own["input_file"] if path is None else path,
            text=dataclasses.replace(text(), keep_fields=True),
            next_sentence=its_own["next_sentence"],
            samples=sample_config(),
        )
        source = opening.open_source(config)
        words = load_words(vocabulary or its_vocabulary, source.description.special_tokens)
        return source, words

    return open_source


def _define_sample_flags() -> Callable[[], "SampleConfig | None"]:
    """Define the flags that say how GPT samples are made of token stores."""
    seq_length = flags.DEFINE_integer(
        "seq_length", None,
        "Look at the GPT samples of this length that training draws from token stores, as"
        " build_samples makes them.",
    )  # fmt: skip
    values: dict[str, flags.FlagHolder[Any]] = {
        "weights": flags.DEFINE_string(
            "weights", None, "With --seq_length: weight of each store in a blend, such as 0.7,0.3."
        ),
        "num_samples": flags.DEFINE_string(
            "num_samples", None, "With --seq_length: samples of train, valid and test.",
        ),
        "split": flags.DEFINE_string(
            "split", None, "With --seq_length: shares of train, valid and test, such as 969,30,1."
        ),
        "split_name": flags.DEFINE_enum(
            "split_name", None, ["train", "valid", "test"], "With --seq_length: the split to show."
        ),
        "seed": flags.DEFINE_integer(
            "sample_seed", None, "With --seq_length: --seed of build_samples, by default 1234."
        ),
        "cache_dir": flags.DEFINE_string(
            "cache_dir", None, "With --seq_length: folder that keeps the indices."
        ),
    }  # fmt: skip

    def sample_config() -> "SampleConfig | None":
        from bert_data.inspection.sources.opening import SampleConfig

        chosen = {name: flag for name, flag in values.items() if flag.value is not None}
        if seq_length.value is None:
            if chosen:
                raise ValueError(f"--{next(iter(chosen.values())).name} needs --seq_length")
            return None
        options = {name: flag.value for name, flag in chosen.items()}
        for name, kind in (("weights", float), ("num_samples", int)):
            if name in options:
                options[name] = _numbers(name, options[name], kind)
        return SampleConfig(seq_length=seq_length.value, **options)

    return sample_config


def _numbers(name: str, value: str, kind: type) -> list[Any]:
    try:
        return [kind(part) for part in value.split(",")]
    except ValueError:
        raise ValueError(f"--{name} is {value!r}; it must be numbers, comma-separated") from None
