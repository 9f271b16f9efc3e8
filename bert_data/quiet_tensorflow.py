"""Keep remarks about itself, which TensorFlow writes while it is imported, off standard error.

    with quiet_tensorflow():
        import tensorflow

    I0000 ... oneDNN custom operations are on ...      dropped
    E0000 ... failed call to cuInit ...                dropped where NVIDIA's driver is not loaded
    E0000 ... any other                                passed on at once

Its C++ code writes them before it heeds TF_CPP_MIN_LOG_LEVEL. A process of its own filters them, so
that an error is seen even if the import ends the program. TF_CPP_MIN_LOG_LEVEL=0 shows everything.
"""

import contextlib
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from bert_data import storage

_UNKNOWN = -2  # tf.data's cardinality
_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_WARNINGS_HIDDEN = "2"
_TENSORFLOW = f"{os.sep}tensorflow{os.sep}python{os.sep}"
_DRIVER = "/dev/nvidiactl"  # where NVIDIA's driver is loaded
_REMARKS = [r"WARNING: All log messages before absl::InitializeLog\(\)", r"I0000 "]
_WITHOUT_DRIVER = r"E0000 .*failed call to cuInit"
_LOOKED: list[bool] = []  # not empty once this module has let TensorFlow look for GPUs
_FILTER = (
    "import re, sys\n"
    "dropped = re.compile(sys.argv[1].encode())\n"
    "for line in iter(sys.stdin.buffer.readline, b''):\n"
    "    if not dropped.match(line):\n"
    "        sys.stderr.buffer.write(line)\n"
    "        sys.stderr.buffer.flush()\n"
)


def import_tensorflow(*, finds_devices: bool = True) -> None:
    """Import TensorFlow without its remarks; one that is imported already looks for GPUs so."""
    if "tensorflow" not in sys.modules:
        with quiet_tensorflow(finds_devices=finds_devices):
            importlib.import_module("tensorflow")
        _LOOKED.append(True)
    elif not _LOOKED:
        with quiet_tensorflow(finds_devices=False):
            _LOOKED.append(True)


@contextlib.contextmanager
def quiet_tensorflow(*, finds_devices: bool = True) -> Iterator[None]:
    """Drop TensorFlow's remarks while the block runs, and later ones below errors.

    The block imports it.

    Args:
      finds_devices: whether its devices are found before the block ends, as that gives remarks,
        too. Then a program can no longer configure them. Otherwise GPUs are looked for only where
        NVIDIA's driver is not loaded, and the program can still configure what there is.
    """
    if os.environ.setdefault(_LEVEL, _WARNINGS_HIDDEN) == "0" or sys.stderr is None:
        yield
        return
    logging.getLogger("tensorflow").setLevel(logging.WARNING)
    logging.getLogger("absl").addFilter(_is_worth_saying)
    has_driver = storage.exists(_DRIVER)
    remarks = _REMARKS if has_driver else [*_REMARKS, _WITHOUT_DRIVER]
    sys.stderr.flush()
    before = os.dup(2)
    # In a session of its own it does not get the terminal's Ctrl-C.
    import subprocess  # here, as it would delay the start

    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _FILTER, "|".join(remarks)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        os.dup2(process.stdin.fileno(), 2)
        try:
            yield
            if finds_devices:
                sys.modules["tensorflow"].config.list_logical_devices()
            elif "tensorflow" in sys.modules and not has_driver:
                sys.modules["tensorflow"].config.list_physical_devices()  # looks for GPUs
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """Whether a line of absl's log is ours, or a warning: TensorFlow remarks on what it saves."""
    return record.levelno > logging.INFO or _TENSORFLOW not in record.pathname


@contextlib.contextmanager
def quiet_end(data: Any, steps: int | None) -> Iterator[None]:
    """Let a dataset of unknown length end without Keras's warning, unless steps are asked for."""
    with warnings.catch_warnings():
        cardinality = getattr(data, "cardinality", None)
        if steps is None and cardinality is not None and int(cardinality()) == _UNKNOWN:
            warnings.filterwarnings("ignore", "Your input ran out of data")
        yield
