"""The flags that choose what runs a command's tasks: this machine, or a cluster."""

from collections.abc import Callable

from absl import flags

from bert_data.settings import settings_of
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
        "What runs the tasks: local, processes of this machine; ray, a Ray cluster; slurm, job"
        " arrays of a Slurm cluster. All nodes must see the input and the output under the same"
        " paths. The output does not depend on it. On a cluster, --num_workers is the number of"
        " tasks at a time, each on one core; 0, and commands without that flag, use all that the"
        " cluster gives.",
    )
    flags.DEFINE_string("ray_address", None, _help("ray_address"))
    flags.DEFINE_string("slurm_options", "", _help("slurm_options"))
    flags.DEFINE_integer("slurm_array_size", 0, _help("slurm_array_size"))

    def engine() -> Engine:
        settings = {name: flags.FLAGS[name].value for name in ENGINE_SETTINGS}
        return make_engine(flags.FLAGS.engine, **settings)

    return engine


def _help(name: str) -> str:
    owner = ENGINE_SETTINGS[name]
    return f"With --engine={owner.name}: {settings_of(owner)[name].help}"
