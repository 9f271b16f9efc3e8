"""The flags that choose what runs a command's tasks: this machine, or a Ray cluster."""

from collections.abc import Callable

from absl import flags

from bert_data.work import ENGINE_SETTINGS, ENGINES, THIS_MACHINE, Engine, make_engine

GROUP = "where it runs"  # the title of these flags in --help


def define_engine_flags() -> Callable[[], Engine]:
    """Define the flags.

    Returns:
      A function that returns the flags' values, once they are parsed.
    """
    flags.DEFINE_enum(
        "engine",
        THIS_MACHINE.name,
        list(ENGINES),
        "What runs the tasks: local, processes of this machine; or ray, a Ray cluster, whose nodes"
        " all must see the input and the output under the same paths. The output does not depend on"
        " it. With ray, --num_workers is the number of tasks at a time, each on one core; 0, and"
        " commands without that flag, use all cores of the cluster.",
    )
    flags.DEFINE_string(
        "ray_address",
        None,
        "With --engine=ray: HOST:PORT of the cluster's head; auto: of the cluster that this machine"
        " belongs to; local: a new one on this machine. By default the environment's RAY_ADDRESS,"
        " which ray job submit sets, or else local.",
    )

    def engine() -> Engine:
        settings = {name: flags.FLAGS[name].value for name in ENGINE_SETTINGS}
        return make_engine(flags.FLAGS.engine, **settings)

    return engine
