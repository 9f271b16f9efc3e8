"""Configuration of training, and of the devices; nothing here needs TensorFlow.

TrainingConfig(output_dir="out", num_train_steps=1000, num_warmup_steps=100)
OptimizerConfig(optimizer="lamb", weight_decay=0.01)
DistributionConfig(kind="mirrored")
"""

import dataclasses
from typing import Any

from bert_data.bounds import check_bounds, check_choice, check_integer
from bert_data.objectives.next_sentence import DEFAULT, find_objective
from bert_data.plain_values import make_plain

_MAX_STEPS = 2**31 - 1  # a call of the graph counts its steps in int32
_LEARNING_RATES = (1e-12, 1000)
_MAX_CPU_DEVICES = 256
_MAX_TPU_CORES = 1_000_000
KINDS = ("auto", "one", "mirrored", "multi_worker", "tpu")
OPTIMIZERS = ("adamw", "lamb")
CONTINUE_WITH = ("steps", "moments", "weights")
BEST_METRICS = ("masked_lm_loss", "masked_lm_accuracy", "loss")
_MAX_BETA = 1 - 2**-20  # 1 - beta must not vanish in float32
_MAX_ACCUMULATION = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """How gradients change the weights; the defaults are those of Google's program.

    Attributes:
      optimizer: "adamw", Adam with decoupled weight decay and without bias correction, as Google's
        program has it; or "lamb", which rescales the update of each variable, for large batches.
      weight_decay: share of a weight that decays in an update, times the learning rate, 0 to 1;
        biases and LayerNorm do not decay.
      adam_beta1: decay of the mean of gradients, 0 to less than 1.
      adam_beta2: decay of the mean of squared gradients, 0 to less than 1.
      adam_epsilon: added to the root of the latter, > 0.
      clip_norm: largest allowed norm of all gradients together; 0: any is allowed.
    """

    optimizer: str = OPTIMIZERS[0]
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-6
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        make_plain(self)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_bounds("weight_decay", self.weight_decay, 0, 1)
        check_bounds("adam_beta1", self.adam_beta1, 0, _MAX_BETA)
        check_bounds("adam_beta2", self.adam_beta2, 0, _MAX_BETA)
        check_bounds("adam_epsilon", self.adam_epsilon, 1e-30, 1)
        check_bounds("clip_norm", self.clip_norm, 0, 1e30)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Configuration of `train`.

    Attributes:
      output_dir: folder for checkpoints and curves.
      num_train_steps: updates in all, including those before a restart, >= 1.
      batch_size: examples per batch, over all devices, >= 1.
      num_accumulation_steps: batches per update, >= 1. An update by k batches is that of one large
        batch of the same examples, up to the rounding of floats and the draws of dropout.
      learning_rate: the peak, 1e-12 to 1000.
      num_warmup_steps: steps until the peak, >= 0.
      num_schedule_steps: the step at which the learning rate reaches 0, if that is later than
        `num_train_steps`, as where another run is to continue this one.
      optimizer: its kind and settings.
      init_checkpoint: initial weights if `output_dir` has no checkpoint.
      continue_from: in its place, a run of the same model that this one continues in a folder of
        its own: the folder, for its last checkpoint, or the prefix of one.
      continue_with: what it takes over: "steps": the weights, the optimizer's moments and the
        number of steps done, so that the schedule goes on; "moments": weights and moments, and
        steps count from 0; "weights": these alone.
      save_checkpoints_steps: steps between checkpoints, >= 1; there is one at the end, too.
      keep_checkpoints: number of last checkpoints to keep, >= 1.
      eval_every_steps: steps between evaluations on held-out data, >= 1; there is one at the end,
        too. None: none.
      best_metric: the result of an evaluation that decides which checkpoint is kept as the best.
      iterations_per_loop: largest number of steps in one call of the graph, >= 1.
      log_every_steps: steps between reports, >= 1.
      random_seed: of initial weights and dropout.
      mixed_precision: "none", "bfloat16" or "float16".
      jit_compile: whether XLA compiles a step.
      next_sentence: what the records ask about the two segments, see `pretraining_model`.
      allow_other_vocabulary: whether the records may have another vocabulary than that with which
        the model was trained that init_checkpoint, continue_from or output_dir holds.
      use_older_checkpoint: whether to continue from the last checkpoint that is whole if a newer
        one is damaged.
    """

    output_dir: str
    num_train_steps: int = 100_000
    batch_size: int = 32
    num_accumulation_steps: int = 1
    learning_rate: float = 5e-5
    num_warmup_steps: int = 10_000
    num_schedule_steps: int | None = None
    optimizer: OptimizerConfig = OptimizerConfig()
    init_checkpoint: str | None = None
    continue_from: str | None = None
    continue_with: str = CONTINUE_WITH[0]
    save_checkpoints_steps: int = 1000
    keep_checkpoints: int = 5
    eval_every_steps: int | None = None
    best_metric: str = BEST_METRICS[0]
    iterations_per_loop: int = 1000
    log_every_steps: int = 100
    random_seed: int = 12345
    mixed_precision: str = "none"
    jit_compile: bool = False
    next_sentence: str = DEFAULT
    allow_other_vocabulary: bool = False
    use_older_checkpoint: bool = False

    def __post_init__(self) -> None:
        make_plain(self)
        find_objective(self.next_sentence)
        check_choice("continue_with", self.continue_with, CONTINUE_WITH)
        check_choice("best_metric", self.best_metric, BEST_METRICS)
        if self.continue_from and self.init_checkpoint:
            raise ValueError("init_checkpoint and continue_from are both set; choose one")
        if self.continue_with != CONTINUE_WITH[0] and not self.continue_from:
            raise ValueError(
                f"continue_with is {self.continue_with}, but continue_from names no run to continue"
            )
        if self.eval_every_steps is not None:
            check_integer("eval_every_steps", self.eval_every_steps, 1, _MAX_STEPS)
        at_least_one = (
            "num_train_steps", "batch_size", "save_checkpoints_steps", "keep_checkpoints",
            "iterations_per_loop", "log_every_steps",
        )  # fmt: skip
        for name in at_least_one:
            check_integer(name, getattr(self, name), 1, _MAX_STEPS)
        check_integer("num_accumulation_steps", self.num_accumulation_steps, 1, _MAX_ACCUMULATION)
        check_integer("num_warmup_steps", self.num_warmup_steps, 0, _MAX_STEPS)
        if self.num_schedule_steps is not None:
            least = self.num_train_steps
            check_integer("num_schedule_steps", self.num_schedule_steps, least, _MAX_STEPS)
        check_integer("random_seed", self.random_seed, -(2**63), 2**63 - 1)
        check_bounds("learning_rate", self.learning_rate, *_LEARNING_RATES)

    @property
    def last_schedule_step(self) -> int:
        """The step at which the learning rate reaches 0."""
        return self.num_schedule_steps or self.num_train_steps

    @property
    def lasting_settings(self) -> dict[str, Any]:
        """What a run that continues should have in common with the run that it continues."""
        names = (
            "learning_rate", "num_train_steps", "num_warmup_steps", "init_checkpoint",
            "continue_from", "continue_with", "mixed_precision", "jit_compile", "random_seed",
            "num_accumulation_steps",
        )  # fmt: skip
        settings = {name: getattr(self, name) for name in names}
        schedule = {"num_schedule_steps": self.last_schedule_step}
        return settings | schedule | dataclasses.asdict(self.optimizer)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributionConfig:
    """Devices.

    Attributes:
      kind: "one" device; "mirrored": all GPUs of this machine; "multi_worker": those of the
        machines in the environment variable TF_CONFIG; "tpu"; or "auto": multi_worker if TF_CONFIG
        names several workers, mirrored if there are several GPUs, else one.
      tpu_name: name or grpc:// address of a Cloud TPU.
      tpu_zone: of the Cloud TPU; by default, from this machine's metadata.
      gcp_project: of the Cloud TPU; likewise.
      num_tpu_cores: expected number of cores of the TPU.
      num_cpu_devices: number of virtual devices of the CPU, to try "mirrored" without GPUs.
    """

    kind: str = "auto"
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None
    num_tpu_cores: int = 8
    num_cpu_devices: int = 1

    def __post_init__(self) -> None:
        make_plain(self)
        check_choice("distribution", self.kind, KINDS)
        check_integer("num_cpu_devices", self.num_cpu_devices, 1, _MAX_CPU_DEVICES)
        check_integer("num_tpu_cores", self.num_tpu_cores, 1, _MAX_TPU_CORES)
