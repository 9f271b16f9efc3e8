"""Turn vocabulary, configuration and checkpoint into SavedModel folders that appear whole.

    ExportConfig(vocab_file="vocab.txt", init_checkpoint="model", output_dir="hub")
        ->  hub/preprocess/{saved_model.pb, assets/vocab.txt, ...}
            hub/encoder/{saved_model.pb, assets/vocab.txt, variables/...}

All inputs are checked before anything is written.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

import tensorflow as tf
from absl import logging

from bert_data.hub.encoding import EncoderObject, load_encoder
from bert_data.hub.packing import MIN_SEQ_LENGTH
from bert_data.hub.preprocessing import DEFAULT_SEQ_LENGTH, Preprocessing
from bert_data.hub.tokenizing import TOKENIZERS
from bert_data.storage import OutputSet, folder_size, write_bytes
from bert_data.tokens.casing import validate_case_matches_checkpoint
from bert_data.tokens.tokenizer import FastTokenizer
from bert_data.tokens.tokenizer_file import load_tokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.training import BertConfig, Checkpoint
from bert_data.training.output_folder import folder_config

PREPROCESS = "preprocess"
ENCODER = "encoder"

_NUM_SEGMENTS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Configuration of `export`.

    Attributes:
      output_dir: folder that receives the folders "preprocess" and "encoder".
      vocab_file: the vocabulary.
      tokenizer_file: instead, a tokenizer.json of WordPiece with BERT's rules. Without both, no
        preprocessing is exported.
      init_checkpoint: prefix of a checkpoint, or the folder of a training run, which stands for its
        last one; None: no encoder is exported.
      bert_config_file: the model's sizes; None: the bert_config.json beside the checkpoint.
      do_lower_case: whether the model's text is lower-cased and its accents are dropped; a
        tokenizer_file specifies this itself.
      seq_length: default width of the rows that preprocessing makes, >= 3.
      tokenizer: "exact" or "fast", see `tokenizing`.
      overwrite: whether existing folders are replaced.
    """

    output_dir: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    init_checkpoint: str | None = None
    bert_config_file: str | None = None
    do_lower_case: bool = True
    seq_length: int = DEFAULT_SEQ_LENGTH
    tokenizer: str = "exact"
    overwrite: bool = False

    def __post_init__(self) -> None:
        if not self.output_dir or "://" in self.output_dir:
            raise ValueError(f"output_dir is {self.output_dir!r}; it must be a local folder")
        if not self.has_text and not self.init_checkpoint:
            raise ValueError(
                "nothing to export: give vocab_file for preprocessing, init_checkpoint for an"
                " encoder, or both"
            )
        if self.bert_config_file and not self.init_checkpoint:
            raise ValueError("bert_config_file needs init_checkpoint, the weights")
        if type(self.seq_length) is not int or self.seq_length < MIN_SEQ_LENGTH:
            raise ValueError(
                f"seq_length is {self.seq_length!r}; a whole number >= {MIN_SEQ_LENGTH} is allowed"
            )
        if self.tokenizer not in TOKENIZERS:
            raise ValueError(
                f"tokenizer is {self.tokenizer!r}; allowed are {', '.join(TOKENIZERS)}"
            )

    @property
    def has_text(self) -> bool:
        """Whether preprocessing is exported."""
        return bool(self.vocab_file or self.tokenizer_file)

    @property
    def inputs(self) -> list[str]:
        """The files that are read; of a checkpoint its prefix or folder."""
        named = (self.vocab_file, self.tokenizer_file, self.init_checkpoint, self.bert_config_file)
        return [path for path in named if path]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportReport:
    """What was exported.

    Attributes:
      folder_bytes: size of each folder, by its path.
      vocab_size: size of the vocabulary, 0 without one.
      num_parameters: of the encoder, 0 without one.
      checkpoint: prefix of the encoder's weights, "" without one.
      has_mlm: whether the encoder has the masked-LM head.
    """

    folder_bytes: dict[str, int]
    vocab_size: int
    num_parameters: int
    checkpoint: str
    has_mlm: bool

    def __str__(self) -> str:
        lines = []
        if self.vocab_size:
            lines.append(f"vocabulary     {self.vocab_size:,} tokens")
        if self.checkpoint:
            head = "with" if self.has_mlm else "without"
            lines.append(f"checkpoint     {self.checkpoint}, {head} the masked-LM head")
            lines.append(f"encoder        {self.num_parameters:,} parameters")
        lines += [
            f"wrote          {path}  {size:,} bytes" for path, size in self.folder_bytes.items()
        ]
        return "\n".join(["exported SavedModels", *(f"  {line}" for line in lines)])


def export(config: ExportConfig) -> ExportReport:
    """Write the SavedModels.

    Raises:
      ValueError: a required file is not named, or two files do not fit each other.
      OSError: a file cannot be read, or a folder exists or cannot be written.
      CorruptDataError: the checkpoint is damaged.
    """
    names = [PREPROCESS] * config.has_text + [ENCODER] * bool(config.init_checkpoint)
    paths = [os.path.join(config.output_dir, name) for name in names]
    with OutputSet(
        os.path.join(config.output_dir, "export"),
        [],
        folders=paths,
        reads=config.inputs,
        overwrite=config.overwrite,
    ) as outputs:
        text = _tokenizer(config) if config.has_text else None
        vocabulary = text.vocabulary if text else None
        do_lower_case = text.do_lower_case if text else config.do_lower_case
        validate_case_matches_checkpoint(do_lower_case, config.init_checkpoint)
        checkpoint = Checkpoint(config.init_checkpoint) if config.init_checkpoint else None
        encoder = _encoder(config, checkpoint, vocabulary) if checkpoint else None
        with _quiet_tensorflow():
            _save(config, text, encoder, outputs)
        outputs.commit(paths)
    variables = encoder.variables if encoder else []
    return ExportReport(
        folder_bytes={path: folder_size(path) for path in paths},
        vocab_size=vocabulary.size if vocabulary else 0,
        num_parameters=sum(variable.shape.num_elements() for variable in variables),
        checkpoint=checkpoint.prefix if checkpoint else "",
        has_mlm=hasattr(encoder, "mlm"),
    )


def _save(
    config: ExportConfig,
    text: FastTokenizer | None,
    encoder: EncoderObject | None,
    outputs: OutputSet,
) -> None:
    """Write the SavedModels into the folders that will have their names."""
    if text:
        assets = _vocabulary_asset(config, text.vocabulary, outputs.work_dir), text.do_lower_case
        preprocessing = Preprocessing(
            text.vocabulary,
            do_lower_case=text.do_lower_case,
            tokenizer=config.tokenizer,
            default_seq_length=config.seq_length,
            max_word_letters=text.max_word_letters,
        )
        _attach_vocabulary(preprocessing.tokenize, *assets)
        signatures = {"serving_default": preprocessing.__call__}
        folder = outputs.partial(os.path.join(config.output_dir, PREPROCESS))
        tf.saved_model.save(preprocessing, folder, signatures=signatures)
    if encoder:
        if text:
            _attach_vocabulary(encoder, *assets)
        signatures = {"serving_default": encoder.serve}
        folder = outputs.partial(os.path.join(config.output_dir, ENCODER))
        tf.saved_model.save(encoder, folder, signatures=signatures)


def _encoder(
    config: ExportConfig, checkpoint: Checkpoint, vocabulary: Vocabulary | None
) -> EncoderObject:
    """Load the encoder, after checking that everything fits."""
    if config.bert_config_file:
        model: BertConfig | None = BertConfig.from_json_file(config.bert_config_file)
    else:
        model = folder_config(os.path.dirname(checkpoint.prefix))
    if model is None:
        raise ValueError(
            f"there is no bert_config.json beside {checkpoint.prefix}: name bert_config_file"
        )
    if vocabulary and vocabulary.size > model.vocab_size:
        raise ValueError(
            f"vocabulary {vocabulary.path} has {vocabulary.size:,} tokens, more than the"
            f" {model.vocab_size:,} of the model (vocab_size): it is not the one that the model was"
            " trained with"
        )
    if vocabulary and vocabulary.size < model.vocab_size:
        logging.warning(
            "vocabulary %s has %d tokens, the model %d (vocab_size): is it the one that the model"
            " was trained with?",
            *(vocabulary.path, vocabulary.size, model.vocab_size),
        )
    if vocabulary and config.seq_length > model.max_position_embeddings:
        raise ValueError(
            f"seq_length is {config.seq_length}; the model reads up to"
            f" {model.max_position_embeddings} tokens (max_position_embeddings)"
        )
    if model.type_vocab_size < _NUM_SEGMENTS:
        logging.warning(
            "the model has a single segment (type_vocab_size); do not pass it pairs of texts"
        )
    return load_encoder(checkpoint, model)


def _tokenizer(config: ExportConfig) -> FastTokenizer:
    """Load the tokenizer that the graph must equal."""
    tokenizer = load_tokenizer(
        config.vocab_file, config.tokenizer_file, do_lower_case=config.do_lower_case
    )
    if not isinstance(tokenizer, FastTokenizer):
        raise ValueError(
            f"{config.tokenizer_file} is not WordPiece with BERT's rules, the only ones that"
            " preprocessing has"
        )
    return tokenizer


def _vocabulary_asset(config: ExportConfig, vocabulary: Vocabulary, scratch: str) -> str:
    """Return the path of a vocabulary file; write one for a tokenizer.json."""
    if config.vocab_file:
        return config.vocab_file
    path = os.path.join(scratch, "vocab.txt")
    write_bytes(path, "".join(f"{token}\n" for token in vocabulary.tokens).encode())
    return path


def _attach_vocabulary(
    target: tf.Module | tf.train.Checkpoint, path: str, do_lower_case: bool
) -> None:
    """Set the two attributes by which TF Hub's objects describe their tokenization."""
    target.vocab_file = tf.saved_model.Asset(path)
    target.do_lower_case = tf.Variable(do_lower_case, trainable=False)


@contextlib.contextmanager
def _quiet_tensorflow() -> Iterator[None]:
    """Keep TensorFlow from logging hidden folder names and the like while it saves."""
    level = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(level)
