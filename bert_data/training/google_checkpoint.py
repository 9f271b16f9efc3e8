"""A checkpoint with Google's names from a model that Keras trained.

model.fit(...); write_checkpoint(model, "out")
    ->  out/bert_config.json, checkpoint, model.ckpt-1000.index, model.ckpt-1000.data-00000-of-00001

`--init_checkpoint`, export_hub and export_hf take the folder, and so do programs that read the
checkpoints that Google released.
"""

import os

import numpy as np

from bert_data.bounds import check_integer
from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.keras_model import KerasModel
from bert_data.training.model_vocabulary import ModelVocabulary, keep_vocabulary
from bert_data.training.optimizer import AdamWeightDecay
from bert_data.training.output_folder import claim_output_folder, write_config


def write_checkpoint(
    model: KerasModel,
    folder: str | os.PathLike[str],
    *,
    vocab_file: str | os.PathLike[str] | None = None,
    num_kept: int = 5,
) -> str:
    """Write the weights of a model, and its optimizer's moments if it has those of `bert_data`.

    With the moments, `run_pretraining.py --output_dir=FOLDER` continues the training.

    Args:
      model: of `pretraining_model` or `text_classifier`.
      folder: receives the checkpoint, which is named after the number of updates, and
        bert_config.json.
      vocab_file: the model's vocabulary, which is kept beside the checkpoint.
      num_kept: number of checkpoints to keep in the folder, >= 1; older ones are removed.

    Returns:
      The prefix of the checkpoint's files.

    Raises:
      ValueError: the model is another one, or the folder has checkpoints of another configuration.
      OSError: the checkpoint cannot be written, or a run trains in the folder.
    """
    if not isinstance(model, KerasModel):
        raise ValueError(
            f"write_checkpoint takes a model of pretraining_model or text_classifier, not a"
            f" {type(model).__name__}"
        )
    check_integer("num_kept", num_kept, 1, 2**31 - 1)
    folder = os.fspath(folder)
    values, step = model.released_values(), 0
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        step = int(optimizer.iterations)
    if isinstance(optimizer, AdamWeightDecay) and optimizer.built:
        weights = {n: v for n, v in model.released_weights().items() if v.trainable}
        values |= {n: slot.numpy() for n, slot in optimizer.named_slots(weights).items()}
    values["global_step"] = np.array(step, np.int64)
    with claim_output_folder(folder, model.config):
        write_config(folder, model.config)
        if vocab_file is not None:
            keep_vocabulary(folder, ModelVocabulary.read(os.fspath(vocab_file)))
        return save_checkpoint(folder, step, values, num_kept=num_kept)
