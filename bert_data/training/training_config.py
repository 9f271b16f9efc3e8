"""Configuration of training, and of the devices; nothing here needs TensorFlow.

TrainingConfig(output_dir="out", num_train_steps=1000, num_warmup_steps=100)
DistributionConfig(kind="mirrored")
"""

import dataclasses
from typing import Any

from bert_data.bounds import check_bounds, check_integer
from bert_data.objectives.next_sentence import NSP, check_next_sentence

_MAX_STEPS = 2**31 - 1  # a call of the graph counts its steps in int32
_LEARNING_RATES = (1e-12, 1000)
_MAX_CPU_DEVICES = 256
_MAX_TPU_CORES = 1_000_000
KINDS = ("auto", "one", "mirrored", "multi_worker", "tpu")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Configuration of `train`.

    Attributes:
      output_dir: folder for checkpoints and curves.
      num_train_steps: in all, including those before a restart, >= 1.
      batch_size: examples per step, over all devices, >= 1.
      learning_rate: the peak, 1e-12 to 1000.
      num_warmup_steps: steps until the peak, >= 0.
      init_checkpoint: initial weights if `output_dir` has no checkpoint.
      save_checkpoints_steps: steps between checkpoints, >= 1; there is one at the end, too.
      keep_checkpoints: number of last checkpoints to keep, >= 1.
      iterations_per_loop: largest number of steps in one call of the graph, >= 1.
      log_every_steps: steps between reports, >= 1.
      random_seed: of initial weights and dropout.
      mixed_precision: "none", "bfloat16" or "float16".
      jit_compile: whether XLA compiles a step.
      next_sentence: what the records ask about the two segments, see `pretraining_model`.
      use_older_checkpoint: whether to continue from the last checkpoint that is whole if a newer
        one is damaged.
    """

    output_dir: str
    num_train_steps: int = 100_000
    batch_size: int = 32
    learning_rate: float = 5e-5
    num_warmup_steps: int = 10_000
    init_checkpoint: str | None = None
    save_checkpoints_steps: int = 1000
    keep_checkpoints: int = 5
    iterations_per_loop: int = 1000
    log_every_steps: int = 100
    random_seed: int = 12345
    mixed_precision: str = "none"
    jit_compile: bool = False
    next_sentence: str = NSP
    use_older_checkpoint: bool = False

    def __post_init__(self) -> None:
        check_next_sentence(self.next_sentence)
        at_least_one = (
            "num_train_steps", "batch_size", "save_checkpoints_steps", "keep_checkpoints",
            "iterations_per_loop", "log_every_steps",
        )  # fmt: skip
        for name in at_least_one:
            check_integer(name, getattr(self, name), 1, _MAX_STEPS)
        check_integer("num_warmup_steps", self.num_warmup_steps, 0, _MAX_STEPS)
        check_integer("random_seed", self.random_seed, -(2**63), 2**63 - 1)
        check_bounds("learning_rate", self.learning_rate, *_LEARNING_RATES)

    @property
    def lasting_settings(self) -> dict[str, Any]:
        """What a run that continues should have in common with the run that it continues."""
        names = (
            "learning_rate", "num_train_steps", "num_warmup_steps", "init_checkpoint",
            "mixed_precision", "jit_compile", "random_seed",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


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
        if self.kind not in KINDS:
            raise ValueError(f"distribution is {self.kind!r}; allowed are {', '.join(KINDS)}")
        check_integer("num_cpu_devices", self.num_cpu_devices, 1, _MAX_CPU_DEVICES)
        check_integer("num_tpu_cores", self.num_tpu_cores, 1, _MAX_TPU_CORES)
