"""The cost of kernels for a run: kept as machine code, or in numba's own cache.

    python benchmarks/kernel_start.py --text=movie_reviews.txt --vocab=vocab.txt

Whole processes run in turn, with warm caches; medians of their CPU seconds (user and system) and of
the differences are printed. numba's way is `njit(cache=True)` with one folder per stamp
(`bert_data/kernels/declaring.py`), because its cache does not notice that a callee has changed; it
imports numba in every run. The first run, which compiles, is reported last.
"""

import argparse
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from machine import describe_machine

_HERE = Path(__file__).resolve().parent.parent
_CREATE = str(_HERE / "create_pretraining_data.py")
_READ = """
import sys
from bert_data.reader import ReaderConfig, read_batches
next(iter(read_batches(ReaderConfig(input_patterns=sys.argv[1], batch_size=32))))
"""
_ITERATE = _READ.replace("read_batches", "iterate_arrays")
_CACHE = "BERT_DATA_CACHE_DIR"


def use_numbas_cache() -> None:
    """Replaces `@kernel` by numba's dispatcher, for the modules imported from now on."""
    import numba

    import bert_data.kernels
    from bert_data.kernels.compiling import make_twin
    from bert_data.kernels.declaring import Declared

    class Kernel(Declared):
        def __call__(self, *arguments: Any) -> Any:
            dispatcher = self.__dict__.get("dispatcher")
            if dispatcher is None:
                numba.config.CACHE_DIR = os.path.join(os.environ[_CACHE], self.stamp[:16])
                options = {"cache": True, "nogil": True, "error_model": "numpy"}
                dispatcher = self.__dict__["dispatcher"] = numba.njit(**options)(make_twin(self))
            return dispatcher(*arguments)

    bert_data.kernels.kernel = Kernel


def run(way: str, cache: str, command: list[str]) -> tuple[float, float]:
    """Runs a command; returns its CPU seconds and its peak memory in MB."""
    environment = os.environ | {_CACHE: f"{cache}/{way}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONPATH"] = str(_HERE)
    process = subprocess.Popen(
        [sys.executable, __file__, f"--run={way}", *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def compare(title: str, command: list[str], cache: str, runs: int) -> str:
    """One row of the table."""
    ways = ("machine-code", "numba")
    for way in ways:
        run(way, cache, command)
    pairs = [[run(way, cache, command) for way in ways] for _ in range(runs)]
    (ours, our_mb), (numbas, numbas_mb) = (
        [statistics.median(column) for column in zip(*side, strict=True)]
        for side in zip(*pairs, strict=True)
    )
    more = statistics.median(numba[0] - kept[0] for kept, numba in pairs)
    return f"| {title} | {ours:.2f} | {numbas:.2f} | {more:.2f} | {our_mb:.0f} | {numbas_mb:.0f} |"


def commands(text: Path, vocab: str, folder: Path) -> dict[str, list[str]]:
    """The measured program; the shard that is read is made here."""
    short = folder / "short.txt"
    with open(text, encoding="utf-8") as lines:
        short.write_text("".join(line for line, _ in zip(lines, range(40), strict=False)))
    (folder / "read.py").write_text(_READ)
    (folder / "iterate.py").write_text(_ITERATE)
    common = [f"--vocab_file={vocab}", "--overwrite"]
    shard = folder / "shard.tfrecord"
    create = [_CREATE, *common, f"--output_file={shard}"]
    tokenize = [str(_HERE / "bert_data/cli/tokenize.py"), *common]
    return {
        "create_pretraining_data.py, 40 lines": [*create, f"--input_file={short}"],
        f"create_pretraining_data.py, {text.stat().st_size / 1e6:.1f} MB": [
            *create,
            f"--input_file={text}",
        ],
        "tokenize": [*tokenize, f"--input_file={text}", f"--output_prefix={folder / 'store'}"],
        "read_batches, one batch": [str(folder / "read.py"), str(shard)],
        "iterate_arrays, one batch": [str(folder / "iterate.py"), str(shard)],
    }


def main() -> None:
    if sys.argv[1:] and sys.argv[1].startswith("--run="):
        if sys.argv[1] == "--run=numba":
            use_numbas_cache()
        sys.argv = sys.argv[2:]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", required=True, type=Path)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    print(describe_machine(), end=". ")
    print(f"CPU seconds and MB a process, medians of {options.runs} pairs of runs.\n")
    print("| command | machine code | numba's cache | more | MB | MB with numba's |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_commands = commands(options.text, options.vocab, folder)
        for title, command in all_commands.items():
            print(compare(title, command, f"{name}/cache", options.runs), flush=True)
        command = next(iter(all_commands.values()))
        first = [run("machine-code", f"{name}/{i}", command)[0] for i in range(3)]
        print(f"\nThe first run of the first command: {statistics.median(first):.1f} CPU seconds.")


if __name__ == "__main__":
    main()
