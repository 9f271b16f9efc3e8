"""The memory that is allowed: the machine's, or fewer by a limit of the process."""

import resource
import subprocess
import sys

import pytest

from bert_data.storage import allowed_memory

PROGRAM = "from bert_data.storage import allowed_memory; print(allowed_memory())"


@pytest.mark.process
def test_a_limit_of_the_process() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, resource.RLIM_INFINITY))

    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM], preexec_fn=limit, stdout=subprocess.PIPE, check=True
    )
    assert int(shown.stdout) == 1 << 30 <= allowed_memory()
