r"""Train a vocabulary on text: of WordPiece as vocab.txt, and of any model as a tokenizer.json.

    bert-data train-vocab --input_file='text/*.txt' --vocab_size=8000 \
        --output_file=vocab.txt
    bert-data train-vocab --input_file='text/*.txt' --model=bpe --output_file=tokenizer.json

The text may have any format that create_pretraining_data.py reads. vocab.txt has one token per
line, and its id is the line number from 0: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then
single characters, then longer and longer pieces. tokenizer.json is for the `tokenizers` library and
for --tokenizer_file; with tokenizer_config.json beside it, which names the special tokens,
transformers' `AutoTokenizer.from_pretrained` loads the folder. Set the same --do_lower_case for
create_pretraining_data.py. The same text and flags give the same files on every machine, but for
the last digits of Unigram's scores.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags, logging

from bert_data.cli import engine_flags, entry, text_flags

if TYPE_CHECKING:
    from bert_data.tokens.vocabulary_training import TrainedVocabulary

FLAGS = flags.FLAGS

_COMMON = "input_file output_file model vocab_size do_lower_case overwrite"  # for --help

flags.DEFINE_string(
    "input_file",
    None,
    "Text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are decompressed.",
)
flags.DEFINE_integer(
    "vocab_size",
    30_000,
    "Number of tokens, including [PAD], [UNK], [CLS], [SEP], [MASK] and single "
    "characters; at least 262 for bpe, which has a token for each byte. 30,000 is usual "
    "for a language; a few thousand are enough for a few MB of text.",
)
flags.DEFINE_enum(
    "model",
    "wordpiece",
    ["wordpiece", "bpe", "unigram"],
    "wordpiece: BERT's. bpe: byte-level, as of GPT-2, RoBERTa and ModernBERT. unigram: as of"
    " SentencePiece. The latter two are written as a tokenizer.json only.",
)
flags.DEFINE_string(
    "output_file",
    "vocab.txt",
    "File for the vocabulary, one token per line; with --model=bpe or unigram, the tokenizer.json,"
    " or a name beside which it goes.",
)
flags.DEFINE_string(
    "tokenizer_output_file",
    None,
    "File for the tokenizer.json; by default beside the vocabulary: tokenizer.json "
    "beside vocab.txt, en.tokenizer.json beside en.txt.",
)
flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Lower-case the text and, for wordpiece, drop accents; by default only for wordpiece.",
)
flags.DEFINE_integer(
    "min_frequency",
    2,
    "wordpiece, bpe: merge two pieces only if they occur together at least this often.",
)
flags.DEFINE_integer(
    "max_characters",
    1000,
    "Number of distinct characters to keep, the most frequent ones; words with any "
    "other character become [UNK]. Chinese or a mixture of scripts needs several "
    "thousand.",
)
flags.DEFINE_integer(
    "max_words",
    5_000_000,
    "Number of different words that pieces are made of, the most frequent ones; each takes some"
    " 1.2 kB of memory. Words with rare spellings, of which large texts have most, hardly change"
    " the pieces.",
)
TEXT = text_flags.define_text_flags()
flags.DEFINE_integer(
    "num_workers",
    0,
    "Processes that count words, each in up to 1 GB of memory; 0 is all cores. The files do not"
    " depend on it.",
)
ENGINE = engine_flags.define_engine_flags()
flags.DEFINE_bool("overwrite", False, "Replace existing output files.")


def main(_: Sequence[str]) -> None:
    """Flags to a vocabulary file."""
    from bert_data import storage
    from bert_data.text.formats import input_files
    from bert_data.tokens.vocabulary_output import json_path_beside, write_vocabulary
    from bert_data.tokens.vocabulary_training import VocabularyTrainingConfig

    if not FLAGS.input_file:
        raise ValueError("--input_file is missing: name the text to train on")
    path = FLAGS.output_file
    json_path = FLAGS.tokenizer_output_file or json_path_beside(path)
    is_wordpiece = FLAGS.model == "wordpiece"
    trained = write_vocabulary(
        VocabularyTrainingConfig(
            input_files=tuple(input_files(FLAGS.input_file, TEXT())),
            vocab_size=FLAGS.vocab_size,
            model=FLAGS.model,
            do_lower_case=is_wordpiece if FLAGS.do_lower_case is None else FLAGS.do_lower_case,
            min_frequency=FLAGS.min_frequency,
            max_characters=FLAGS.max_characters,
            max_words=FLAGS.max_words,
            text=TEXT(),
            engine=ENGINE(),
            num_workers=ENGINE().count_workers(FLAGS.num_workers),
            work_dir=storage.own_work_folder(path, "words", is_shared=ENGINE().is_cluster),
        ),
        path,
        json_path=json_path,
        overwrite=FLAGS.overwrite,
    )
    if is_wordpiece:
        logging.info("%s: the same for the libraries of Hugging Face", json_path)
    _tell(trained, path if is_wordpiece else json_path)


def _tell(trained: "TrainedVocabulary", path: str) -> None:
    """Tell in the log what was trained."""
    num_tokens = len(trained.tokens)
    logging.info(
        "%s: %s tokens from %s lines%s; %s of %s characters kept",
        path,
        f"{num_tokens:,}",
        f"{trained.num_lines:,}",
        f" ({trained.num_skipped:,} rows without a text were skipped)" * bool(trained.num_skipped),
        f"{trained.num_characters_kept:,}",
        f"{trained.num_characters:,}",
    )
    if num_tokens < FLAGS.vocab_size:
        logging.warning(
            "only %s tokens instead of --vocab_size=%d: %s",
            f"{num_tokens:,}",
            FLAGS.vocab_size,
            "the text has no more pieces"
            if FLAGS.model == "unigram"
            else "no further pair of pieces occurs at least"
            f" --min_frequency={FLAGS.min_frequency} times",
        )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
