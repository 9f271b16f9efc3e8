"""The damage laboratory: damages files at random, and says what reading them came to.

python -m tests.damage --kind=index --tries=5000 --seed=7
python -m tests.damage --kind=index --seed=7 --first=1234 --tries=1      (one try again)
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from absl import app, flags, logging

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from tests.damage import kinds
from tests.damage.lab import run_kind

FLAGS = flags.FLAGS

flags.DEFINE_list("kind", None, "Kinds of files, or their groups; all of them by default.")
flags.DEFINE_integer("tries", 300, "Tries of each kind.")
flags.DEFINE_integer("first", 0, "Number of the first try.")
flags.DEFINE_integer("seed", 0, "Of the damages.")
flags.DEFINE_integer("num_shown", 5, "Bad outcomes of a kind to print in full.")


def main(argv: Sequence[str]) -> None:
    del argv
    logging.set_verbosity(logging.FATAL)
    num_bad = 0
    for kind in kinds.find_kinds(FLAGS.kind or kinds.GROUPS):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as room:
            numbers = range(FLAGS.first, FLAGS.first + FLAGS.tries)
            counts, findings = run_kind(kind, Path(room) / "lab", numbers, FLAGS.seed)
        num_bad += len(findings)
        outcomes = ", ".join(f"{n} {o.value}" for o, n in counts.most_common())
        print(f"{kind.name}: {outcomes} ({time.monotonic() - start:.1f} s)", flush=True)
        for finding in findings[: FLAGS.num_shown]:
            print(f"  try {finding.number}: {finding.outcome.value}: {finding.damage}")
            print("    " + finding.text.strip().replace("\n", "\n    "), flush=True)
    sys.exit(1 if num_bad else 0)


if __name__ == "__main__":
    app.run(main)
