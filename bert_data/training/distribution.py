"""The devices that training runs on, and the batches for each of them.

One process of a run, the chief, writes its files. The body of `make_batches` is usually
`read_batches(config, input_context=context)`.

Where several batches make one update, each also brings the update's loss divisors, so that the sum
of their losses is the loss of one large batch:

    batches  1 2 3 | 4 5 6      their masked tokens  20 18 20 | 17 20 20
    loss_divisors  58 58 58 | 57 57 57
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator

import tensorflow as tf
from absl import logging

from bert_data.records import fields
from bert_data.training.losses import loss_divisors
from bert_data.training.training_config import DistributionConfig
from bert_data.training.waiting import await_servers, ended_by_signals

_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)
_WORKERS = ("chief", "worker")
_TASK = re.compile(r"/job:(\w+)(?:/replica:\d+)?/task:(\d+)")


def make_strategy(config: DistributionConfig) -> tf.distribute.Strategy:
    """Connect to the devices; call it before TensorFlow computes anything.

    Raises:
      ValueError: TF_CONFIG is missing or wrong, or the devices do not exist.
    """
    if config.num_cpu_devices > 1:
        device = tf.config.list_physical_devices("CPU")[0]
        part = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(device, [part] * config.num_cpu_devices)
    kind = config.distribution
    if kind == "auto":
        kind = _best_kind(config)
    logging.info("distribution: %s", kind)
    if kind == "tpu":
        return _tpu_strategy(config)
    if kind == "multi_worker":
        if _num_workers() < 1:
            raise ValueError(
                "distribution is multi_worker, but the environment variable TF_CONFIG names no"
                " workers"
            )
        return _multi_worker_strategy(config)
    if kind == "mirrored":
        gpus = tf.config.list_logical_devices("GPU")
        devices = gpus or tf.config.list_logical_devices("CPU")
        if not gpus and len(devices) == 1:
            logging.warning(
                "distribution is mirrored, but this machine has no GPU that TensorFlow can use:"
                " training on its CPU alone"
            )
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.get_strategy()


def device_names(strategy: tf.distribute.Strategy) -> str:
    """Return the devices that this process computes on, such as "GPU:0, GPU:1"."""
    if strategy.num_replicas_in_sync == 1 and not strategy.cluster_resolver:
        gpus = tf.config.list_logical_devices("GPU")
        names = [(gpus or tf.config.list_logical_devices("CPU"))[0].name]
    else:
        names = list(strategy.extended.worker_devices)
    return ", ".join(name.rpartition("device:")[2] for name in names)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process writes checkpoints and reports; each run has one that does."""
    resolver = strategy.cluster_resolver
    if resolver is None or not resolver.task_type:
        return True
    if resolver.task_type == "worker" and "chief" not in resolver.cluster_spec().jobs:
        return resolver.task_id == 0
    return resolver.task_type == "chief" or resolver.task_type == "localhost"


def num_hosts(strategy: tf.distribute.Strategy) -> int:
    """Return the number of machines that read data, each its own part."""
    if strategy.num_replicas_in_sync == 1:
        return 1
    here = len(strategy.extended.worker_devices)  # all cores of a TPU
    return getattr(strategy.extended, "num_hosts", strategy.num_replicas_in_sync // here)


def agree_on(strategy: tf.distribute.Strategy, what: str, value: int) -> None:
    """Raise ValueError unless all workers have the same value."""
    if strategy.num_replicas_in_sync == 1:
        return

    def square_deviation() -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        mine = tf.constant(value, tf.float32)
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, mine)
        deviation = mine - total / strategy.num_replicas_in_sync
        return context.all_reduce(tf.distribute.ReduceOp.SUM, deviation * deviation)

    different = strategy.run(tf.function(square_deviation, autograph=False))
    if float(strategy.experimental_local_results(different)[0]) > 0.1:
        raise ValueError(
            f"the workers differ in the {what} (here it is {value}); output_dir must be one folder"
            " that all of them share"
        )


@contextlib.contextmanager
def naming_lost_worker(strategy: tf.distribute.Strategy, output_dir: str) -> Iterator[None]:
    """Turn the error of a run whose other worker died into a ConnectionError naming it."""
    try:
        yield
    except tf.errors.OpError as error:
        resolver = strategy.cluster_resolver
        if resolver is None or not resolver.task_type or not isinstance(error, _LOST):
            raise
        here = (resolver.task_type, resolver.task_id)
        tasks = [(match[1], int(match[2])) for match in _TASK.finditer(str(error))]
        lost = [f"{job} {number}{_address(resolver, job, number)}"
                for job, number in tasks if (job, number) != here]  # fmt: skip
        raise ConnectionError(
            f"{lost[0] if lost else 'another worker'} of this run was lost; start all workers again"
            f" with the same flags: they continue from the last checkpoint in {output_dir}"
        ) from None


def _address(resolver: tf.distribute.cluster_resolver.ClusterResolver, job: str, task: int) -> str:
    with contextlib.suppress(ValueError):  # a task that is not in the cluster
        return f" ({resolver.cluster_spec().task_address(job, task)})"
    return ""


def check_that_xla_compiles(strategy: tf.distribute.Strategy) -> None:
    """Raise ValueError if XLA cannot compile a step: on several virtual CPU devices."""
    if strategy.num_replicas_in_sync == 1:
        return
    if any("CPU" in device for device in strategy.extended.worker_devices):
        raise ValueError("jit_compile does not work with several CPU devices; use one")


def _best_kind(config: DistributionConfig) -> str:
    if config.tpu_name:
        return "tpu"
    if _num_workers() > 1:
        return "multi_worker"
    num_devices = max(len(tf.config.list_logical_devices("GPU")), config.num_cpu_devices)
    return "mirrored" if num_devices > 1 else "one"


def _num_workers() -> int:
    """Return the number of workers in TF_CONFIG, including the chief."""
    text = os.environ.get("TF_CONFIG", "") or "{}"
    try:
        cluster = json.loads(text).get("cluster", {})
        return sum(len(cluster.get(job, ())) for job in _WORKERS)
    except (ValueError, AttributeError) as error:
        raise ValueError(f"the environment variable TF_CONFIG cannot be read: {error}") from None


def _multi_worker_strategy(config: DistributionConfig) -> tf.distribute.Strategy:
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    here, spec = (cluster.task_type, cluster.task_id), cluster.cluster_spec()
    servers = {
        (job, number): spec.task_address(job, number)
        for job in spec.jobs
        if job in _WORKERS
        for number in spec.task_indices(job)
    }
    own = servers.pop(here, None)
    others = {address: f"{job} {number}" for (job, number), address in servers.items()}
    await_servers(others, own=own, seconds=config.max_wait_seconds)
    with ended_by_signals(config.max_wait_seconds):
        return tf.distribute.MultiWorkerMirroredStrategy()


def _tpu_strategy(config: DistributionConfig) -> tf.distribute.Strategy:
    tpu = f"TPU {config.tpu_name!r}"
    if config.tpu_name:
        logging.info("connecting to %s", tpu)
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=config.tpu_name or "", zone=config.tpu_zone, project=config.gcp_project
        )
        spec = resolver.cluster_spec()
        addresses = [address for job in spec.jobs for address in spec.job_tasks(job)]
        await_servers(dict.fromkeys(addresses, tpu), seconds=config.max_wait_seconds)
        with ended_by_signals(config.max_wait_seconds):
            tf.config.experimental_connect_to_cluster(resolver)
            tf.tpu.experimental.initialize_tpu_system(resolver)
    except ConnectionError:
        raise
    except (ValueError, OSError, tf.errors.OpError) as error:
        reason = str(error).strip().splitlines()[0]
        if not config.tpu_name:
            raise ValueError(f"no TPU on this machine: {reason}") from None
        raise ValueError(f"cannot reach {tpu}: {reason}") from None
    strategy = tf.distribute.TPUStrategy(resolver)
    if strategy.num_replicas_in_sync != config.num_tpu_cores:
        logging.warning(
            "num_tpu_cores is %d, and the TPU has %d",
            config.num_tpu_cores, strategy.num_replicas_in_sync,
        )  # fmt: skip
    return strategy


LOSS_DIVISORS = "loss_divisors"
"""The feature that batches of a larger update have, float32[2]: this replica's share of the sums
that divide the losses of all of them."""

# Takes the number of the first batch (the parts of all replicas count as one batch) and a host's
# context; returns the parts for the host's replicas: dicts by Google's feature names, int32, the
# weights float32. The same arguments always give the same batches.
MakeBatches = Callable[[int, tf.distribute.InputContext], tf.data.Dataset]


def distribute_batches(
    strategy: tf.distribute.Strategy,
    make_batches: MakeBatches,
    *,
    batch_size: int,
    start_batch: int,
    num_accumulation_steps: int = 1,
) -> tf.data.Dataset:
    """Give each replica its part of each batch, read by its own host."""
    num_replicas = strategy.num_replicas_in_sync
    if batch_size % num_replicas:
        raise ValueError(
            f"the batch size is {batch_size}; it must be a multiple of the number of devices,"
            f" {num_replicas}"
        )

    def make_parts(context: tf.distribute.InputContext) -> tf.data.Dataset:
        batches = make_batches(start_batch, context)
        if num_accumulation_steps == 1:
            return batches
        num_replicas_here = num_replicas // context.num_input_pipelines
        return _with_divisors(batches, num_accumulation_steps, num_replicas_here)

    return strategy.distribute_datasets_from_function(make_parts)


def _with_divisors(
    batches: tf.data.Dataset, num_accumulation_steps: int, num_replicas: int
) -> tf.data.Dataset:
    """Add `LOSS_DIVISORS` to a host's batches, of which those of an update are in memory."""

    def add(window: dict[str, tf.data.Dataset]) -> tf.data.Dataset:
        update = tf.data.Dataset.zip(window)
        total = update.reduce(tf.zeros([2]), plain(lambda total, b: total + _divisors(b)))
        return update.map(plain(lambda b: {**b, LOSS_DIVISORS: total / num_replicas}))

    plain = tf.autograph.experimental.do_not_convert
    windows = batches.window(num_accumulation_steps * num_replicas, drop_remainder=True)
    return windows.flat_map(plain(add))


def _divisors(batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return loss_divisors(
        batch[fields.MASKED_LM_WEIGHTS.name],
        batch.get(fields.NEXT_SENTENCE_LABELS.name),
        batch.get(fields.NEXT_SENTENCE_WEIGHTS.name),
    )
