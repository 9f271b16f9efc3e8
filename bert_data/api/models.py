r"""Models: train one on records or by a recipe, and hand it on to TF Hub or Hugging Face.

train("train-*", "model", bert_config="tiny.json", num_train_steps=100)   model/model.ckpt-100
train(recipe, "model", bert_config="tiny.json")                    model/model.ckpt-4700
export_hub("model", "hub", vocab_file="vocab.txt")                 hub/preprocess, hub/encoder
export_hf("model", "hf", vocab_file="vocab.txt")                   hf/model.safetensors, ...
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from bert_data import hub, training
from bert_data.api.arguments import Options, takes
from bert_data.api.reading import Files, names_of
from bert_data.checks import MAX_INT32
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.reader import ReaderConfig, objective_of
from bert_data.reader.config import REMOTE_CACHE_BYTES
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.recipe_source import objective_of_stages
from bert_data.settings import AUTO, convert
from bert_data.storage.paths import Path
from bert_data.training.reader_configs import (
    check_records,
    check_stages,
    evaluation_reader,
    held_out_data,
    held_out_of_recipe,
    model_of_records,
    train_on_recipe,
    train_on_records,
    training_order,
)
from bert_data.training.training_config import EvaluationConfig, OptimizerConfig, TrainingConfig

if TYPE_CHECKING:
    from bert_data.api.keywords import ExportHfOptions, ExportHubOptions, TrainOptions
    from bert_data.training.run_output import HeldOutData


Model = Path | Mapping[str, Any] | training.BertConfig
_BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trained:
    """A model that was trained.

    Attributes:
      checkpoint: prefix of its last checkpoint, for `export_hub`, `export_hf` and more training.
      step: of the checkpoint.
      results: of evaluation, by name; {} without eval_files.
      model: the Keras model.
    """

    checkpoint: str
    step: int
    results: Mapping[str, float]
    model: "training.PretrainingModel" = dataclasses.field(repr=False)


@takes(ReaderConfig, TrainingConfig, OptimizerConfig, fixed=("seed", "vocab_size"))
def train(
    files: Files | Recipe,
    output_dir: Path,
    *,
    bert_config: Model,
    num_train_steps: int | None = None,
    num_warmup_steps: int | None = None,
    batch_size: int = _BATCH_SIZE,
    learning_rate: float = 5e-5,
    eval_files: Files | None = None,
    **options: "Unpack[TrainOptions]",
) -> Trained:
    """Train a BERT on records or by a recipe; a second call with the same folder continues.

    Args:
      files: names or patterns of shards, or what `create_records` returned; or a recipe, which says
        what is read, and how.
      output_dir: folder for checkpoints and curves.
      bert_config: sizes of the model: a JSON file, its values, a `BertConfig`, or a name: tiny,
        mini, small, medium, base or large.
      num_train_steps: in all, including those before a restart; a recipe may end before, and
        without a number it is trained to its end.
      num_warmup_steps: until the peak of the learning rate; None: a tenth of the steps.
      batch_size: examples per step.
      learning_rate: the peak.
      eval_files: records to evaluate the model on at the end, and every `eval_every_steps`.
      options: init_checkpoint, save_checkpoints_steps, log_every_steps, weight_decay and others, as
        the flags of `bert-data train`; batching, max_seq_length and others of
        `bert_data.reader.ReaderConfig`.
    """
    import_tensorflow()
    named = {
        **options,
        "output_dir": output_dir,
        "num_warmup_steps": num_warmup_steps,
        "learning_rate": learning_rate,
    }
    if isinstance(files, Recipe):
        if batch_size != _BATCH_SIZE:
            raise ValueError(f"batch_size is {batch_size}; a recipe has sizes of its own")
        named["num_train_steps"] = MAX_INT32 if num_train_steps is None else num_train_steps
        return _train_on_recipe(files, bert_config, eval_files, named)
    if num_train_steps is None:
        raise TypeError("train() needs num_train_steps, as records have no end")
    named |= {"num_train_steps": num_train_steps, "batch_size": batch_size}
    return _train_on_records(files, bert_config, eval_files, named)


def _train_on_records(
    files: Files, bert_config: Model, eval_files: Files | None, options: dict[str, Any]
) -> Trained:
    from bert_data.reader import read_batches

    names = names_of(files)
    arguments = Options("train", options)
    config = _bert_config(bert_config, names, arguments.look("vocab_file", None))
    seed = arguments.take("random_seed", 12345)
    width = arguments.look("width", None)
    data = _training_data(arguments, names, config, seed)
    settings = arguments.last_config(
        TrainingConfig,
        batch_size=data.batch_size or 1,  # where tokens bound a batch, any number of rows
        random_seed=seed,
        next_sentence=objective_of(data).name,
        optimizer=arguments.config(OptimizerConfig),
    )
    held_out, read = None, [data]
    if eval_files is not None:
        # Where tokens bound a batch of training, it has no number of rows.
        size = data.batch_size or EvaluationConfig.eval_batch_size
        is_static = settings.jit_compile
        later = evaluation_reader(
            data, names_of(eval_files), batch_size=size, width=width, is_static=is_static
        )
        held_out, read = held_out_data(later), [data, later]
    check_records(read)
    read_batches(data)  # says what is wrong with records before anything is written
    often = None if settings.eval_every_steps is None else held_out
    return _trained(settings, train_on_records(settings, config, data, held_out=often), held_out)


def _train_on_recipe(
    recipe: Recipe, bert_config: Model, eval_files: Files | None, options: dict[str, Any]
) -> Trained:
    arguments = Options("train", options, TrainingConfig, OptimizerConfig)
    run = Run(recipe)
    if isinstance(bert_config, str | os.PathLike):
        config = training.BertConfig.load(os.fspath(bert_config), run.vocabulary.size)
    else:
        config = _bert_config(bert_config, "", None)
    check_stages(run, config)
    settings = arguments.last_config(
        TrainingConfig,
        batch_size=1,
        next_sentence=objective_of_stages(recipe).name,
        optimizer=arguments.config(OptimizerConfig),
    )
    held_out = None
    if eval_files is not None:
        held_out = held_out_data(
            held_out_of_recipe(names_of(eval_files), run, config, is_static=settings.jit_compile)
        )
    often = None if settings.eval_every_steps is None else held_out
    return _trained(settings, train_on_recipe(settings, config, run, held_out=often), held_out)


def _trained(
    settings: TrainingConfig, model: "training.PretrainingModel", held_out: "HeldOutData | None"
) -> Trained:
    checkpoint = training.last_whole_checkpoint(settings.output_dir)
    assert checkpoint is not None
    results: Mapping[str, float] = {}
    if held_out is not None:
        results = training.evaluate(model, held_out.make_batches())
    step = int(training.Checkpoint(checkpoint).read("global_step"))  # num_train_steps, or more
    return Trained(checkpoint=checkpoint, step=step, results=results, model=model)


def _bert_config(config: Model, names: str, vocab_file: str | None) -> training.BertConfig:
    if isinstance(config, training.BertConfig):
        return config
    if isinstance(config, Mapping):
        return training.BertConfig.from_dict(dict(config))
    return model_of_records(convert("bert_config", str, config), names, vocab_file)


def _training_data(
    arguments: Options, names: str, config: training.BertConfig, seed: int
) -> ReaderConfig:
    order = training_order(
        names,
        batching=arguments.take("batching", AUTO),
        width=arguments.take("width", None),
        is_static=arguments.look("jit_compile", False),
        remote_cache_bytes=arguments.look("remote_cache_bytes", REMOTE_CACHE_BYTES),
    )
    return arguments.config(ReaderConfig, **order, seed=seed, vocab_size=config.vocab_size)


@takes("bert_data.hub.ExportConfig", fixed=("init_checkpoint",))
def export_hub(
    checkpoint: Path | Trained | None,
    output_dir: Path,
    *,
    vocab_file: Path | None = None,
    overwrite: bool = False,
    **options: "Unpack[ExportHubOptions]",
) -> hub.ExportReport:
    """Write SavedModels with the interfaces of TF Hub: text preprocessing, and a BERT encoder.

    Args:
      checkpoint: what `train` returned; the folder of a training run, the prefix of a checkpoint,
        or a folder of Hugging Face. None: only preprocessing is written.
      output_dir: folder for preprocess/ and encoder/.
      vocab_file: the model's vocabulary; without it only the encoder is written.
      overwrite: whether to replace existing folders.
      options: do_lower_case, seq_length, tokenizer and others, as the flags of
        `bert-data export-hub`.
    """
    import_tensorflow()
    named = _export_options(checkpoint, output_dir, vocab_file, overwrite)
    arguments = Options("export_hub", options)
    return hub.export(arguments.last_config(hub.ExportConfig, **named))


@takes("bert_data.hub.HuggingFaceExportConfig", fixed=("init_checkpoint",))
def export_hf(
    checkpoint: Path | Trained,
    output_dir: Path,
    *,
    vocab_file: Path | None = None,
    overwrite: bool = False,
    **options: "Unpack[ExportHfOptions]",
) -> hub.HuggingFaceExportReport:
    """Write a folder that Hugging Face's transformers loads.

    Args:
      checkpoint: see `export_hub`.
      output_dir: folder for the files.
      vocab_file: the model's vocabulary.
      overwrite: whether to replace existing files.
      options: do_lower_case, tokenizer_file, bert_config_file, as the flags of
        `bert-data export-hf`.
    """
    import_tensorflow()
    named = _export_options(checkpoint, output_dir, vocab_file, overwrite)
    arguments = Options("export_hf", options)
    return hub.export_hugging_face(arguments.last_config(hub.HuggingFaceExportConfig, **named))


def _export_options(
    checkpoint: Path | Trained | None, output_dir: Path, vocab_file: Path | None, overwrite: bool
) -> dict[str, Any]:
    prefix = checkpoint.checkpoint if isinstance(checkpoint, Trained) else checkpoint
    return {
        "init_checkpoint": prefix,
        "output_dir": output_dir,
        "vocab_file": vocab_file,
        "overwrite": overwrite,
    }
