"""Draw what each step removed of each source, from the summary of a run.

corpus_output/curation.corpus.jsonl.zst.json  ->  corpus_output/removed.svg
"""

import json
from pathlib import Path

from bert_data.curation.reporting.run_summary import removals_picture
from bert_data.curation.running.counts import StepCounts

_STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1c2430; } text.axis { font-size: 11px; }
.bar { fill: #3b78c2; } .removed { fill: #c3c8d0; } .removed.odd { fill: #a9b0bb; }
</style>"""


def write_picture(folder: Path) -> Path:
    """Write the picture beside the corpus of a folder."""
    (summary,) = folder.glob("curation.*.json")
    data_sets = json.loads(summary.read_text("utf-8"))["data_sets"]
    by_data_set = {
        each["name"]: [StepCounts(**counts) for counts in each["counts"]] for each in data_sets
    }
    head, *rest = removals_picture(by_data_set).partition(">")
    path = folder / "removed.svg"
    path.write_text(f'{head} xmlns="http://www.w3.org/2000/svg"{rest[0]}{_STYLE}{rest[1]}', "utf-8")
    return path
