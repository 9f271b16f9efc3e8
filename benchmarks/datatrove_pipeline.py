"""datatrove's pipeline of the steps in `curation.py`; runs in datatrove's interpreter.

    PYTHON benchmarks/datatrove_pipeline.py INPUT_FOLDER WORK_FOLDER LANGUAGE_MODEL [--no_minhash]
      ->  {"kept": 1234, "seconds": {"language": 1.5, ..., "first pass": 9.1, "MinHash: ...": 2.0}}

Language, Gopher's repetition and Gopher's quality run in one pass that writes JSONL; then MinHash
runs in its four stages, with datatrove's own settings (14 bands of 8 rows, 5-grams).
"""

import argparse
import gzip
import json
import sys
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
)
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter, LanguageFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers.jsonl import JsonlWriter
from datatrove.utils.hashing import HashConfig
from datatrove.utils.lid import FT176LID


def run(pipeline, work, name, tasks=1):
    """Runs a pipeline; (CPU seconds, seconds of each step by name)."""
    start = time.process_time()
    stats = LocalPipelineExecutor(
        pipeline=pipeline, tasks=tasks, workers=1, logging_dir=str(work / "logs" / name)
    ).run()
    seconds = {each.name: each.time_stats.total for each in stats.stats}
    return time.process_time() - start, seconds


def minhash(work, source):
    """CPU seconds of each stage."""
    config = MinhashConfig(
        hash_config=HashConfig(precision=64), num_buckets=14, hashes_per_bucket=8
    )
    folders = {name: str(work / name) for name in ("signatures", "buckets", "remove", "out")}
    reader = JsonlReader(source)
    signature = MinhashDedupSignature(output_folder=folders["signatures"], config=config)
    buckets = MinhashDedupBuckets(
        input_folder=folders["signatures"], output_folder=folders["buckets"], config=config
    )
    cluster = MinhashDedupCluster(
        input_folder=folders["buckets"], output_folder=folders["remove"], config=config
    )
    keep = MinhashDedupFilter(input_folder=folders["remove"])
    writer = JsonlWriter(folders["out"])
    return {
        "MinHash: signatures": run([reader, signature], work, "signatures")[0],
        "MinHash: buckets": run([buckets], work, "buckets", tasks=config.num_buckets)[0],
        "MinHash: clusters": run([cluster], work, "clusters")[0],
        "MinHash: filter": run([reader, keep, writer], work, "filter")[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input")
    parser.add_argument("work", type=Path)
    parser.add_argument("language_model")
    parser.add_argument("--no_minhash", action="store_true")
    arguments = parser.parse_args()
    FT176LID.MODEL_URL = arguments.language_model
    filtered = str(arguments.work / "filtered")
    steps = [LanguageFilter(languages=["en"]), GopherRepetitionFilter(), GopherQualityFilter()]
    pipeline = [JsonlReader(arguments.input), *steps, JsonlWriter(filtered)]
    total, by_step = run(pipeline, arguments.work, "filters")
    names = ("language", "gopher_repetition", "gopher_quality")
    seconds = {
        name: sum(each for label, each in by_step.items() if label.endswith(step.name))
        for name, step in zip(names, steps, strict=True)
    }
    seconds["first pass"] = total
    last = Path(filtered)
    if not arguments.no_minhash:
        seconds |= minhash(arguments.work, filtered)
        last = arguments.work / "out"
    print(json.dumps({"kept": count_lines(last), "seconds": seconds}))


def count_lines(folder):
    return sum(
        sum(1 for _ in gzip.open(path, "rt", encoding="utf-8"))
        for path in folder.rglob("*.jsonl.gz")
    )


if __name__ == "__main__":
    sys.exit(main())
