"""The damage laboratory: damages files at random, and says what reading them came to.

python -m tests.damage --kind=index --tries=5000 --seed=7
python -m tests.damage --tries=1000 --output_file=damage.md
python -m tests.damage --kind=index --seed=7 --first=1234 --tries=1      (one try again)
"""

import collections
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
from tests.damage.lab import GOOD, Kind, Outcome, run_kind

FLAGS = flags.FLAGS

flags.DEFINE_list("kind", None, "Kinds of files, or their groups; all of them by default.")
flags.DEFINE_integer("tries", 300, "Tries of each kind.")
flags.DEFINE_integer("first", 0, "Number of the first try.")
flags.DEFINE_integer("seed", 0, "Of the damages.")
flags.DEFINE_integer("num_shown", 5, "Bad outcomes of a kind to print in full.")
flags.DEFINE_string("output_file", None, "File for the table, in Markdown.")


def main(argv: Sequence[str]) -> None:
    del argv
    logging.set_verbosity(logging.FATAL)
    results: dict[str, collections.Counter[Outcome]] = {}
    num_bad = 0
    chosen = kinds.find_kinds(FLAGS.kind or kinds.GROUPS)
    for kind in chosen:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as room:
            numbers = range(FLAGS.first, FLAGS.first + FLAGS.tries)
            counts, findings = run_kind(kind, Path(room) / "lab", numbers, FLAGS.seed)
        results[kind.name] = counts
        num_bad += len(findings)
        outcomes = ", ".join(f"{n} {o.value}" for o, n in counts.most_common())
        print(f"{kind.name}: {outcomes} ({time.monotonic() - start:.1f} s)", flush=True)
        for finding in findings[: FLAGS.num_shown]:
            print(f"  try {finding.number}: {finding.outcome.value}: {finding.damage}")
            print("    " + finding.text.strip().replace("\n", "\n    "), flush=True)
    if FLAGS.output_file:
        Path(FLAGS.output_file).write_text(table(chosen, results))
    sys.exit(1 if num_bad else 0)


def table(chosen: Sequence[Kind], results: dict[str, collections.Counter[Outcome]]) -> str:
    """The outcomes of each kind, and why some damage goes unnoticed."""
    lines = [
        "# What becomes of damaged files",
        "",
        f"`python -m tests.damage --tries={FLAGS.tries} --seed={FLAGS.seed}` damages files of each",
        "kind at random: flipped bits, cuts, swaps, blank sectors, crafted numbers, stale and",
        "foreign files. The library's functions open each, with limits of time and memory.",
        "A clear error is one sentence with the file; equal means the result of whole files;",
        "unprotected, another result where the format has no redundancy, see below.",
        "",
        "| kind | " + " | ".join(outcome.value for outcome in Outcome) + " |",
        "|---|" + "---:|" * len(Outcome),
    ]
    for name, counts in results.items():
        numbers = " | ".join(f"{counts[outcome] or ''}" for outcome in Outcome)
        lines.append(f"| {name} | {numbers} |")
    lines += ["", "Where a change can go unnoticed, and why:", ""]
    lines += [
        f"- {kind.name}, `{pattern}`: {reason}."
        for kind in chosen
        for pattern, reason in kind.unprotected.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    assert set(GOOD) < set(Outcome)
    app.run(main)
