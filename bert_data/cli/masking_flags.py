"""The flags of masking that Google's programs lack."""

from absl import flags

from bert_data.objectives.masking_rules import MASKINGS, MaskingConfig
from bert_data.settings import settings_of


def define_masking_flags() -> None:
    """Define --masking, and what its rules can be told."""
    default = MaskingConfig()
    flags.DEFINE_enum("masking", default.masking, list(MASKINGS), _help("masking"))
    flags.DEFINE_integer("max_ngram", default.max_ngram, _help("max_ngram"))
    flags.DEFINE_bool(
        "favor_shorter_ngrams", default.favor_shorter_ngrams, _help("favor_shorter_ngrams")
    )


def _help(name: str) -> str:
    """Return a setting's text with the names in backticks as flags."""
    text = settings_of(MaskingConfig)[name].help
    return (text[:1].upper() + text[1:]).replace(" `", " --").replace("`", "")
