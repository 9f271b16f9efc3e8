"""Runs run_pretraining.py, and kills it when it logs a step, however busy the machine is.

cd CHECKOUT; python tests/training/dying_run.py STEP FLAGS...
"""

import logging
import os
import runpy
import signal
import sys


class _Kill(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(f"step {step}/"):
            os.kill(os.getpid(), signal.SIGKILL)


step = sys.argv.pop(1)
sys.argv[0] = "run_pretraining.py"
logging.getLogger("absl").addHandler(_Kill())
runpy.run_path(sys.argv[0], run_name="__main__")
