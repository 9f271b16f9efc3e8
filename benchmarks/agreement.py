"""The agreement of the quality rules with datatrove's, rule by rule, as Markdown.

    python benchmarks/agreement.py --datatrove=PYTHON > benchmarks/results/agreement.md

PYTHON is an interpreter with datatrove, spacy and what its filters need. The documents are those of
the corpora beside the checkout, each whole or cut at a line's end, and a damaged variant of each
(`damaged_texts.py`). Thresholds are the published ones except `max_words`, which hardly any
document here reaches. --json also prints the counts and the documents on which the two differ.
"""

import argparse
import collections
import json
import math
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from damaged_texts import documents_and_damaged  # noqa: E402
from machine import describe_machine  # noqa: E402

from bert_data.curation.document import Document  # noqa: E402
from bert_data.curation.step import make_step  # noqa: E402

SHARED = CHECKOUT.parent / "shared" / "data" / "corpora"
STEPS = {
    "gopher_quality": {"max_words": 1000, "symbols_are_words": True},
    "gopher_repetition": {},
    "fineweb": {},
    "c4": {},
}


def our_decisions(steps, text):
    """By step and rule, (whether it rejects, measured value); C4 also the text that is left."""
    decisions = {}
    for name, step in steps.items():
        verdict = step.judge(Document(id="0", source="", text=text, fields={"language": "en"}))
        decisions[name] = {each.rule: (each.failed, each.value) for each in verdict.measured}
        if name == "c4" and verdict.kept:
            decisions[name]["text"] = verdict.document.text
    return decisions


def thresholds_of(steps, text):
    """By step and rule: of a text that is measured by all of them."""
    return {
        name: {each.rule: each.threshold for each in step.judge(Document("0", "", text)).measured}
        for name, step in steps.items()
    }


def compare(python, texts):
    """By step and rule: counts of documents by (we reject, datatrove rejects), and who differs."""
    steps = {name: make_step(name, parameters) for name, parameters in STEPS.items()}
    thresholds = thresholds_of(steps, "The cat sat on the mat. It is so.")
    lines = "".join(json.dumps(each) + "\n" for each in (thresholds, *texts))
    program = Path(__file__).with_name("datatrove_decisions.py")
    run = subprocess.run(
        [python, program], input=lines, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(f"datatrove failed:\n{run.stderr[-3000:]}")
    theirs = [json.loads(line) for line in run.stdout.splitlines()]
    counts, differing = collections.defaultdict(collections.Counter), []
    for number, (text, decided) in enumerate(zip(texts, theirs, strict=True)):
        for step, rules in our_decisions(steps, text).items():
            for rule, ours in rules.items():
                # What is left of a text counts as one more rule, that nobody rejects by.
                if rule == "text":
                    pair, value = (False, ours != decided[step]["text"]), math.nan
                else:
                    pair, value = (ours[0], decided[step][rule]), ours[1]
                counts[step, rule][pair] += 1
                if pair[0] != pair[1]:
                    differing.append(
                        {"document": number, "step": step, "rule": rule, "value": value}
                    )
    return counts, differing


WHY = """
All differences come of what is a word or a sentence; rules of lines, paragraphs and characters do
not differ. datatrove takes spaCy's tokenizer for English, which knows abbreviations and
contractions by lists: `Mr.`, `J.`, `Jr.` are one token there, a word and a dot here; `can|not` and
`does|n't` there are `cannot` and `doesn|'t` here. And it does not always part letters from brackets
and quotation marks in a run without spaces (`natural"blonde`, `is(played`), of which the variants
with words run together have many. Sentences are counted by spaCy's marks there and by the sentencex
library here, which ends none at `No. 78`, at `pp. 111` or within a bracket.
"""


def print_differences(differing):
    print("\n## Where they differ\n" + WHY)
    print("| step | rule | our values for the documents that differ |")
    print("|---|---|---|")
    values = collections.defaultdict(list)
    for each in differing:
        values[each["step"], each["rule"]].append(f"{each['value']:.4g}")
    for (step, rule), of_rule in values.items():
        print(f"| {step} | {rule} | {', '.join(of_rule)} |")


def print_table(counts, texts):
    print("# Decisions of rules, beside datatrove's\n")
    print(
        "    " + __doc__.split("\n\n")[1].strip() + "\n\n" + __doc__.split("\n\n")[2].strip() + "\n"
    )
    num_bytes = sum(len(text.encode()) for text in texts)
    print(f"{describe_machine()}. {len(texts)} documents, {num_bytes / 1e6:.1f} MB.\n")
    print("| step | rule | both reject | both keep | only we reject | only datatrove | agreement |")
    print("|---|---|---|---|---|---|---|")
    for (step, rule), pairs in counts.items():
        total = sum(pairs.values())
        same = pairs[True, True] + pairs[False, False]
        print(
            f"| {step} | {rule} | {pairs[True, True]} | {pairs[False, False]} "
            f"| {pairs[True, False]} | {pairs[False, True]} | {100 * same / total:.2f}% |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datatrove", required=True, help="an interpreter that has datatrove")
    parser.add_argument("--num_documents", type=int, default=1000)
    parser.add_argument("--max_characters", type=int, default=4000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts = documents_and_damaged(SHARED, arguments.num_documents, arguments.max_characters)
    counts, differing = compare(arguments.datatrove, texts)
    if arguments.json:
        rows = [
            {"step": step, "rule": rule, "both_reject": pairs[True, True],
             "both_keep": pairs[False, False], "only_we_reject": pairs[True, False],
             "only_datatrove_rejects": pairs[False, True]}
            for (step, rule), pairs in counts.items()
        ]  # fmt: skip
        print(json.dumps({"rules": rows, "differing": differing}))
    else:
        print_table(counts, texts)
        print_differences(differing)


if __name__ == "__main__":
    main()
