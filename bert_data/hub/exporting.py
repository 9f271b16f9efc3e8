"""Turn vocabulary, configuration and checkpoint into SavedModel folders that appear whole.

    ExportConfig(vocab_file="vocab.txt", init_checkpoint="model", output_dir="hub")
        ->  hub/preprocess/{saved_model.pb, assets/vocab.txt, ...}
            hub/encoder/{saved_model.pb, assets/vocab.txt, variables/...}

All inputs are checked before anything is written, and the outputs and the vocabulary before
TensorFlow is imported.
"""

import dataclasses
import os

from bert_data.hub.config import DEFAULT_SEQ_LENGTH, ExportConfig
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.storage import OutputSet, folder_size
from bert_data.tokens.definition import validate_case_matches_checkpoint
from bert_data.tokens.tokenizer_file import load_wordpiece

PREPROCESS = "preprocess"
ENCODER = "encoder"


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
    """
    names = [PREPROCESS] * config.has_text + [ENCODER] * bool(config.init_checkpoint)
    paths = [os.path.join(config.output_dir, name) for name in names]
    with OutputSet(
        os.path.join(config.output_dir, "export"),
        [],
        folders=paths,
        reads=config.inputs,
        overwrite=config.overwrite,
        maker="bert-data export-hub",
    ) as outputs:
        text = None
        if config.has_text:
            text = load_wordpiece(
                config.vocab_file,
                config.tokenizer_file,
                do_lower_case=config.do_lower_case,
                reason=", the only ones that preprocessing has",
            )
        do_lower_case = text.do_lower_case if text else config.do_lower_case
        validate_case_matches_checkpoint(do_lower_case, config.init_checkpoint)
        import_tensorflow(finds_devices=False)  # which takes seconds
        from bert_data.hub import saving

        checkpoint = encoder = None
        seq_length = config.seq_length or DEFAULT_SEQ_LENGTH
        if config.init_checkpoint:
            vocabulary = text.vocabulary if text else None
            checkpoint = saving.open_weights(config.init_checkpoint)
            encoder, seq_length = saving.load_fitting_encoder(config, checkpoint, vocabulary)
        assets = saving.vocabulary_assets(config, text, outputs.work_dir) if text else None
        for path in paths:
            with saving.naming_write(path):
                if encoder and checkpoint and os.path.basename(path) == ENCODER:
                    vocabularies = saving.encoders_vocabularies(text, checkpoint.prefix)
                    saving.save_encoder(encoder, assets, outputs.partial(path), vocabularies)
                elif text and assets:
                    saving.save_preprocessing(
                        config, text, assets, outputs.partial(path), seq_length=seq_length
                    )
        outputs.commit(paths)
    variables = encoder.variables if encoder else []
    return ExportReport(
        folder_bytes={path: folder_size(path) for path in paths},
        vocab_size=text.vocabulary.size if text else 0,
        num_parameters=sum(variable.shape.num_elements() for variable in variables),
        checkpoint=checkpoint.prefix if checkpoint else "",
        has_mlm=hasattr(encoder, "mlm"),
    )
