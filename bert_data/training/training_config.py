"""Configuration of training, its optimizer and its devices; nothing here needs TensorFlow."""

import dataclasses
from typing import Annotated, Any

from bert_data.checks import check_integer
from bert_data.former_names import accept_former_names
from bert_data.records.choices import DEFAULT, OBJECTIVE_NAMES
from bert_data.settings import Formerly, NotEmpty, OneOf, Share, Within, check_settings

_DISTRIBUTIONS = ("auto", "one", "mirrored", "multi_worker", "tpu")
OPTIMIZERS = ("adamw", "lamb")
CONTINUE_WITH = ("steps", "moments", "weights")
BEST_METRICS = ("masked_lm_loss", "masked_lm_accuracy", "loss")
PRECISIONS = ("none", "bfloat16", "float16")
_MAX_BETA = 0.999999  # 1 - beta must not vanish in float32


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """Configuration of the optimizer; the defaults are those of Google's program.

    Attributes:
      optimizer: adamw: Adam with decoupled weight decay and without bias correction, as Google's
        program has it. lamb: LAMB (You et al., 2020), for batches of thousands of examples.
      weight_decay: share of a weight that decays in a step, times the learning rate; biases and
        LayerNorm do not decay.
      adam_beta1: decay of the mean of gradients, below 1.
      adam_beta2: decay of the mean of squared gradients, below 1.
      adam_epsilon: added to the root of the mean of squared gradients.
      clip_norm: largest norm of all gradients together; larger ones are scaled down to it. 0: any
        is allowed.
    """

    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = OPTIMIZERS[0]
    weight_decay: Share = 0.01
    adam_beta1: Annotated[float, Within(0, _MAX_BETA)] = 0.9
    adam_beta2: Annotated[float, Within(0, _MAX_BETA)] = 0.999
    adam_epsilon: Annotated[float, Within(1e-30, 1)] = 1e-6
    clip_norm: Annotated[float, Within(0, 1e30)] = 1.0

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Configuration of `train`.

    Attributes:
      output_dir: folder for checkpoints, curves and results.
      num_train_steps: number of training steps, including those before a restart.
      batch_size: examples per batch, over all devices. A training step reads
        `num_accumulation_steps` of them.
      num_accumulation_steps: batches per training step: their gradients are summed before the
        weights change, as if they were one large batch. Steps of the learning rate, of the log and
        of checkpoints are updates.
      learning_rate: peak learning rate of the optimizer.
      num_warmup_steps: number of steps in which the learning rate rises to its peak.
      num_schedule_steps: step at which the learning rate reaches 0; `num_train_steps` by default.
        Raise it if another run will continue this one.
      optimizer: its kind and settings.
      init_checkpoint: initial weights: a released checkpoint, one of this program, or a Hugging
        Face folder (model.safetensors). Ignored if `output_dir` has a checkpoint.
      continue_from: instead of `init_checkpoint`: the `output_dir` of another run of the same
        model, or one of its checkpoints, which this run continues in its own `output_dir`, such as
        with longer sequences. Ignored if `output_dir` has a checkpoint.
      continue_with: what `continue_from` takes over. steps: weights, the optimizer's moments and
        the number of steps done, so that the learning rate goes on where it was; `num_train_steps`
        counts them, too. moments: weights and moments; steps count from 0, with a warm-up of their
        own. weights: these alone.
      save_checkpoints_steps: number of steps between checkpoints; there is one at the end, too.
      keep_checkpoints: number of checkpoints to keep.
      eval_every_steps: while training, evaluate on held-out records every so many steps and after
        the last one, and keep the best checkpoint in the folder best of `output_dir`.
      best_metric: result of an evaluation that decides which checkpoint is the best.
      iterations_per_loop: maximum number of steps in one call of TensorFlow.
      log_every_steps: number of steps between two lines of the log, of metrics.jsonl in
        `output_dir`, and two points of TensorBoard's curves.
      random_seed: seed of initial weights, dropout and the order of records.
      mixed_precision: precision of matrix products: bfloat16 for TPUs and recent GPUs; float16 with
        loss scaling.
      jit_compile: compile the training step with XLA.
      next_sentence: the records' task for two segments, see `pretraining_model`.
      allow_other_vocabulary: train or evaluate a model on records of another vocabulary than the
        one that it was trained with.
      use_older_checkpoint: if the last checkpoint in `output_dir` is damaged, continue from (or
        evaluate) the last one before it that is whole.
    """

    output_dir: Annotated[str, NotEmpty()]
    num_train_steps: Annotated[int, Within(1)] = 100_000
    batch_size: Annotated[int, Within(1)] = 32
    num_accumulation_steps: Annotated[int, Within(1, 1_000_000)] = 1
    learning_rate: Annotated[float, Within(1e-12, 1000)] = 5e-5
    num_warmup_steps: Annotated[int, Within(0)] | None = 10_000
    num_schedule_steps: Annotated[int, Within(1)] | None = None
    optimizer: OptimizerConfig = OptimizerConfig()
    init_checkpoint: str | None = None
    continue_from: str | None = None
    continue_with: Annotated[str, OneOf(CONTINUE_WITH)] = CONTINUE_WITH[0]
    save_checkpoints_steps: Annotated[int, Within(1)] = 1000
    keep_checkpoints: Annotated[int, Within(1)] = 5
    eval_every_steps: Annotated[int, Within(1)] | None = None
    best_metric: Annotated[str, OneOf(BEST_METRICS)] = BEST_METRICS[0]
    iterations_per_loop: Annotated[int, Within(1)] = 1000
    log_every_steps: Annotated[int, Within(1)] = 100
    random_seed: Annotated[int, Within(-(2**63), 2**63 - 1)] = 12345
    mixed_precision: Annotated[str, OneOf(PRECISIONS)] = PRECISIONS[0]
    jit_compile: bool = False
    next_sentence: Annotated[str, OneOf(OBJECTIVE_NAMES)] = DEFAULT
    allow_other_vocabulary: bool = False
    use_older_checkpoint: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        if self.continue_from and self.init_checkpoint:
            raise ValueError("`init_checkpoint` and `continue_from` are both set; choose one")
        if self.continue_with != CONTINUE_WITH[0] and not self.continue_from:
            raise ValueError(
                f"continue_with is {self.continue_with}, but `continue_from` names no run to"
                " continue"
            )
        if self.num_schedule_steps is not None:
            check_integer("num_schedule_steps", self.num_schedule_steps, self.num_train_steps)

    @property
    def last_warmup_step(self) -> int:
        """Step at which the learning rate reaches its peak."""
        return (
            self.num_train_steps // 10 if self.num_warmup_steps is None else self.num_warmup_steps
        )

    @property
    def last_schedule_step(self) -> int:
        """Step at which the learning rate reaches 0."""
        return self.num_schedule_steps or self.num_train_steps

    @property
    def lasting_settings(self) -> dict[str, Any]:
        """The settings that a run should share with the run that it continues."""
        names = (
            "learning_rate", "num_train_steps", "init_checkpoint", "continue_from", "continue_with",
            "mixed_precision", "jit_compile", "random_seed", "num_accumulation_steps",
        )  # fmt: skip
        settings = {name: getattr(self, name) for name in names}
        schedule = {
            "num_warmup_steps": self.last_warmup_step,
            "num_schedule_steps": self.last_schedule_step,
        }
        return settings | schedule | dataclasses.asdict(self.optimizer)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Configuration of an evaluation.

    Attributes:
      eval_batch_size: examples per evaluation step.
      max_eval_steps: maximum number of evaluation steps; evaluation also ends with the data.
    """

    eval_batch_size: Annotated[int, Within(1)] = 8
    max_eval_steps: Annotated[int, Within(1)] = 100

    def __post_init__(self) -> None:
        check_settings(self)


@accept_former_names
@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionConfig:
    """Devices.

    Attributes:
      distribution: devices. one: a single device. mirrored: all GPUs of this machine. multi_worker:
        those of the machines in TF_CONFIG. tpu: a TPU. auto: whatever is available.
      tpu_name: name or grpc:// address of the Cloud TPU.
      tpu_zone: zone of the Cloud TPU; by default, this machine's.
      gcp_project: project of the Cloud TPU; by default, this machine's.
      num_tpu_cores: number of cores of the TPU.
      max_wait_seconds: how long a run waits for the other workers, or for the TPU, when it begins.
      num_cpu_devices: number of virtual devices of the CPU, to try mirrored without GPUs.
    """

    distribution: Annotated[str, OneOf(_DISTRIBUTIONS), Formerly("kind")] = _DISTRIBUTIONS[0]
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None
    num_tpu_cores: Annotated[int, Within(1, 1_000_000)] = 8
    max_wait_seconds: Annotated[int, Within(1)] = 600
    num_cpu_devices: Annotated[int, Within(1, 256)] = 1

    def __post_init__(self) -> None:
        check_settings(self)
