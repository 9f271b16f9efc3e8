r"""Give a vocabulary new tokens from a text, and the model's checkpoint embeddings for them.

    bert-data extend-vocab --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
        --vocab_file=uncased_L-12_H-768_A-12/vocab.txt --input_file='medicine/*.txt' \
        --num_tokens=1000 --output_dir=medical

writes medical/vocab.txt, bert_config.json and a checkpoint, for --init_checkpoint of train and of
the exports. New tokens are the words that the vocabulary splits into pieces today, those first that
save the most pieces; or the words of --new_tokens_file. They take the places of [unused0],
[unused1], ... first. A new token begins with the mean of its pieces' embeddings and output biases.
A folder of Hugging Face becomes a folder of Hugging Face.

Before the folder appears, the command compares: each new token is encoded as itself, and texts
without new tokens have the same ids and the same outputs. Words that begin with a new token, such
as its plural, are split anew; the report counts them.
"""

import dataclasses
from collections.abc import Sequence
from typing import Annotated

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, require, settings
from bert_data.cli.shared_flags import model_settings, text_section
from bert_data.hub.export_config import ExtensionConfig
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.settings import Within, check_settings
from bert_data.text.documents import TextConfig

FLAGS = flags.FLAGS

_GROUPS = {  # what --help shows first
    "common": "init_checkpoint vocab_file tokenizer_file do_lower_case bert_config_file input_file"
    " num_tokens min_count new_tokens_file use_unused output_dir overwrite"
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenFlags:
    """The flags of this command alone.

    Attributes:
      input_file: text to choose new tokens from: files or patterns, separated by commas. With
        `new_tokens_file` it is only measured how the text is split before and after.
      new_tokens_file: the new tokens, one word in each line, instead of those of the text.
      num_tokens: maximum number of new tokens from the text.
      min_count: number of times that a word of the text must occur.
    """

    input_file: str | None = None
    new_tokens_file: str | None = None
    num_tokens: Annotated[int, Within(1)] = 1000
    min_count: Annotated[int, Within(1)] = 5

    def __post_init__(self) -> None:
        check_settings(self)


SECTIONS = (
    Section(
        "",
        (
            *require(model_settings(), "init_checkpoint"),
            *settings(ExtensionConfig, "output_dir use_unused overwrite"),
            *settings(TokenFlags),
        ),
    ),
    text_section(),
)


def main(_: Sequence[str]) -> None:
    """Extend as the flags say."""
    from bert_data import hub
    from bert_data.hub.extending import check_output
    from bert_data.text.documents import as_spans
    from bert_data.text.formats import input_files
    from bert_data.tokens.new_tokens import choose_new_tokens, count_split_words, read_new_tokens
    from bert_data.tokens.tokenizer_file import load_wordpiece
    from bert_data.tokens.word_counts import read_lines

    given = from_flags(TokenFlags)
    if not (given.input_file or given.new_tokens_file):
        raise ValueError("set `input_file`, `new_tokens_file` or both: they name the new tokens")
    text = from_flags(TextConfig)
    config = from_flags(ExtensionConfig)
    lists = [*filter(None, (FLAGS.vocab_file, FLAGS.tokenizer_file, given.new_tokens_file))]
    config = check_output(config, lists)  # before a long list of texts is read
    texts = input_files(given.input_file, text) if given.input_file else []
    reads = [*texts, *lists]
    config = check_output(config, reads)
    tokenizer = load_wordpiece(
        FLAGS.vocab_file,
        FLAGS.tokenizer_file,
        do_lower_case=FLAGS.do_lower_case,
        reason="; only these vocabularies are extended",
    )
    words = None
    if given.new_tokens_file:
        new_tokens = read_new_tokens(given.new_tokens_file, tokenizer)
    if given.input_file:
        words = count_split_words(read_lines(as_spans(texts), text), tokenizer)
    if words and not given.new_tokens_file:
        new_tokens = choose_new_tokens(
            words, tokenizer.vocabulary, num_tokens=given.num_tokens, min_count=given.min_count
        )
        if len(new_tokens) < given.num_tokens:
            logging.info(
                "words that are split and occur at least %d times (`min_count`): no more than %d",
                *(given.min_count, len(new_tokens)),
            )
    import_tensorflow()
    logging.info("%s", hub.extend_vocabulary(config, tokenizer, new_tokens, words, reads))


if __name__ == "__main__":
    entry.run(main, groups=_GROUPS)
