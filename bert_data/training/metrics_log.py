"""A log of metrics as JSON Lines: one object a logged step, however often training was restarted.

{"step": 100, "loss": 7.918, "masked_lm_loss": 7.225, ..., "gradient_norm": 1.83}
{"step": 200, "loss": 6.214, "masked_lm_loss": 5.527, ..., "eval_masked_lm_loss": 5.641}

NaN and infinite values are written as null.
"""

import json
import math
import os

from absl import logging

from bert_data.storage import StagedFolder, exists, naming, open_scratch, read_bytes, write_bytes

NAME = "metrics.jsonl"


class MetricsLog:
    """The log in a folder; in a remote one it appears when it is published."""

    def __init__(self, folder: str, step: int) -> None:
        """Go back to a step: remove lines of later ones, and what a killed run left of one."""
        self._staged, self._final = StagedFolder(folder), os.path.join(folder, NAME)
        self._path = os.path.join(self._staged.path, NAME)
        before = read_bytes(self._final) if exists(self._final) else b""
        lines = before.splitlines(keepends=True)
        kept = [line for line in lines if _step_of(line) <= step]
        if len(kept) < len(lines):
            logging.info(
                "%s: lines of steps after %d are removed (%d), as those steps are done again",
                *(self._final, step, len(lines) - len(kept)),
            )
        write_bytes(self._path, b"".join(kept))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Append a line."""
        line = json.dumps({"step": step, **{n: _plain(v) for n, v in values.items()}}) + "\n"
        with naming(self._final), open_scratch(self._path, "ab") as file:
            file.write(line.encode())

    def publish(self) -> None:
        """Upload the log to a remote folder; in a local one it is there already."""
        self._staged.upload()


def _plain(value: float) -> float | None:
    """Return a value with the digits that a float32 has, or None if it is not finite."""
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _step_of(line: bytes) -> float:
    """Return the step of a line; infinity if it is not whole."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else None
    except (ValueError, LookupError, TypeError):
        step = None
    return step if isinstance(step, int) else math.inf
