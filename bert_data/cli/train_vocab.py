r"""Makes a WordPiece vocabulary from text: the `vocab.txt` that create_pretraining_data.py takes.

    python -m bert_data.cli.train_vocab --input_file='text/*.txt' --vocab_size=8000 \
        --output_file=vocab.txt

The text has one sentence a line, as for create_pretraining_data.py. The file has one token a line,
its id is the number of the line from 0: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then single
characters, then ever longer pieces. Give the same --do_lower_case to create_pretraining_data.py.
The same text and flags give the same file on every machine.
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.text import ENCODING_ERRORS

FLAGS = flags.FLAGS

flags.DEFINE_string(
    "input_file", None, "Text files, one sentence a line: names or globs, comma-separated."
)
flags.DEFINE_integer(
    "vocab_size",
    30_000,
    "Number of tokens, [PAD], [UNK], [CLS], [SEP], [MASK] and single characters included. 30,000 is"
    " usual for a language; a few thousand do for a few MB of text.",
)
flags.DEFINE_string("output_file", "vocab.txt", "Where the vocabulary goes, one token a line.")
flags.DEFINE_bool("do_lower_case", True, "Lower the text and drop its accents.")
flags.DEFINE_integer(
    "min_frequency", 2, "Merge two pieces only if they stand together at least so often."
)
flags.DEFINE_integer(
    "max_characters",
    1000,
    "Keep so many different characters, the most frequent; a word with any other one will be [UNK]."
    " Chinese or a mixture of scripts needs some thousands.",
)
flags.DEFINE_enum(
    "encoding_errors",
    "strict",
    ENCODING_ERRORS,
    "What to do about bytes that are not UTF-8; strict names the file and line and stops.",
)
flags.DEFINE_bool("overwrite", False, "Replace the output file if it exists.")


def main(argv: Sequence[str]) -> None:
    """Flags to a vocabulary file."""
    del argv  # entry.run refuses what is not a flag
    # Imported here so that --help and a mistyped flag are answered at once.
    from bert_data import files
    from bert_data.outputs import OutputSet
    from bert_data.tokens import vocabulary_training

    if not FLAGS.input_file:
        raise ValueError("--input_file is missing: name the text to learn from")
    path = FLAGS.output_file
    with OutputSet(path, [path], overwrite=FLAGS.overwrite) as outputs:
        trained = vocabulary_training.train_vocabulary(
            vocabulary_training.VocabularyTrainingConfig(
                input_files=tuple(files.expand_inputs(FLAGS.input_file)),
                vocab_size=FLAGS.vocab_size,
                do_lower_case=FLAGS.do_lower_case,
                min_frequency=FLAGS.min_frequency,
                max_characters=FLAGS.max_characters,
                encoding_errors=FLAGS.encoding_errors,
            )
        )
        data = "".join(f"{token}\n" for token in trained.tokens).encode()
        with files.naming(path), outputs.open(path) as file:
            file.write(data)
        outputs.commit([path])
    num_tokens = len(trained.tokens)
    logging.info(
        "%s: %s tokens from %s lines; %s of %s characters kept",
        path,
        f"{num_tokens:,}",
        f"{trained.num_lines:,}",
        f"{trained.num_characters_kept:,}",
        f"{trained.num_characters:,}",
    )
    if num_tokens < FLAGS.vocab_size:
        logging.warning(
            "--vocab_size=%d was asked for; no more pieces come --min_frequency=%d times or more",
            FLAGS.vocab_size,
            FLAGS.min_frequency,
        )


if __name__ == "__main__":
    entry.run(main)
