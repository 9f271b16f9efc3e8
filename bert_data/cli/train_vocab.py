r"""Train a vocabulary on text: of WordPiece as vocab.txt, and of any model as a tokenizer.json.

    bert-data train-vocab --input_file='text/*.txt' --vocab_size=8000 \
        --output_file=vocab.txt
    bert-data train-vocab --input_file='text/*.txt' --model=bpe \
        --output_file=tokenizer.json

The text may have any format that create_pretraining_data.py reads. vocab.txt has one token per
line, and its id is the line number from 0: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then
single characters, then longer and longer pieces. tokenizer.json is for the `tokenizers` library and
for --tokenizer_file; with tokenizer_config.json beside it, which names the special tokens,
transformers' `AutoTokenizer.from_pretrained` loads the folder. After --do_lower_case=false, set it
for the other commands, too, which otherwise refuse the vocabulary. The same text and flags give the
same files on every machine, but for the last digits of Unigram's scores. Words of more than 500
characters, such as long lines without spaces, are cut at the ends of sentences, then anywhere;
before, text without spaces is cut after 1,000,000 characters (wordpiece: of 4 MB or more).
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import ENGINE, engine_of_flags, text_section
from bert_data.progress import how_many
from bert_data.text.text_config import TextConfig
from bert_data.tokens.vocabulary_config import VocabularyTrainingConfig

if TYPE_CHECKING:
    from bert_data.tokens.vocabulary_training import TrainedVocabulary

FLAGS = flags.FLAGS

_COMMON = "input_file output_file model vocab_size do_lower_case overwrite"  # for --help


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileFlags:
    """The flags of this command alone.

    Attributes:
      input_file: text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are
        decompressed.
      output_file: file for the vocabulary, one token per line; with `model=bpe` or unigram, the
        tokenizer.json, or a name beside which it goes.
      tokenizer_output_file: file for the tokenizer.json; by default beside the vocabulary:
        tokenizer.json beside vocab.txt, en.tokenizer.json beside en.txt.
      overwrite: replace existing output files.
    """

    input_file: str
    output_file: str = "vocab.txt"
    tokenizer_output_file: str | None = None
    overwrite: bool = False


SECTIONS = (
    Section(
        "",
        (
            *settings(FileFlags),
            *settings(
                VocabularyTrainingConfig,
                without="work_dir",
                changes={
                    "vocab_size": {"default": 30_000},
                    "do_lower_case": {
                        "default": None,
                        "more_help": " By default only for wordpiece.",
                    },
                    "num_workers": {"default": 0},
                },
            ),
        ),
    ),
    text_section(),
    ENGINE,
)


def main(_: Sequence[str]) -> None:
    """Flags to a vocabulary file."""
    from bert_data import storage
    from bert_data.text.formats import input_files
    from bert_data.tokens.vocabulary_training import json_path_beside, write_vocabulary

    path = FLAGS.output_file
    json_path = FLAGS.tokenizer_output_file or json_path_beside(path)
    is_wordpiece = FLAGS.model == "wordpiece"
    text, engine = from_flags(TextConfig), engine_of_flags()
    trained = write_vocabulary(
        from_flags(
            VocabularyTrainingConfig,
            input_files=tuple(input_files(FLAGS.input_file, text)),
            do_lower_case=is_wordpiece if FLAGS.do_lower_case is None else FLAGS.do_lower_case,
            text=text,
            engine=engine,
            num_workers=engine.count_workers(FLAGS.num_workers),
            work_dir=storage.hidden_work_folder(path, "words", is_shared=engine.is_cluster),
        ),
        path,
        json_path=json_path,
        overwrite=FLAGS.overwrite,
    )
    if is_wordpiece:
        logging.info("%s: the same for the libraries of Hugging Face", json_path)
    _tell(trained, path if is_wordpiece else json_path)


def _tell(trained: "TrainedVocabulary", path: str) -> None:
    num_tokens = len(trained.tokens)
    logging.info(
        "%s: %s tokens from %s%s; %s of %s characters kept",
        path,
        f"{num_tokens:,}",
        how_many(trained.num_lines, "line"),
        f" ({trained.num_skipped:,} rows without a text were skipped)" * bool(trained.num_skipped),
        f"{trained.num_characters_kept:,}",
        f"{trained.num_characters:,}",
    )
    if num_tokens < FLAGS.vocab_size:
        logging.warning(
            "only %s tokens instead of `vocab_size=%d`: %s",
            f"{num_tokens:,}",
            FLAGS.vocab_size,
            "the text has no more pieces"
            if FLAGS.model == "unigram"
            else "no further pair of pieces occurs at least"
            f" `min_frequency={FLAGS.min_frequency}` times",
        )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
