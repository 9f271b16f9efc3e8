"""Small records of labelled texts, written by formula."""

import json
from pathlib import Path

from bert_data.labelled.label_config import LabelledDatasetConfig, LabelledTextConfig
from bert_data.labelled.records import create_labelled_dataset
from tests.goldens.inputs import SYLLABLES, WORDS

NUM_RECORDS = 23


def texts() -> list[str]:
    """Texts of 0 to 20 words, some of two pieces."""
    texts_read = []
    for number in range(NUM_RECORDS):
        picked = [WORDS[(number * 7 + place * 13) % 100] for place in range(number * 9 % 21)]
        texts_read.append(" ".join(picked))
    return texts_read


def write_labelled(folder: Path, vocabulary: Path, *, pairs: bool = False, **options) -> str:
    """Writes t-00000-of-00003 ... in `folder`; returns their pattern.

    Labels are 0, 1, 2; the second texts of pairs tell them.
    """
    rows = [
        {"text": text, "other": f"no {SYLLABLES[number % 3]}", "label": f"class {number % 3}"}
        for number, text in enumerate(texts())
    ]
    source = folder / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ("text", "other") if pairs else ("text",)
    create_labelled_dataset(
        LabelledDatasetConfig(
            input_file=str(source),
            output_file=str(folder / "t@3"),
            vocab_file=str(vocabulary),
            texts=LabelledTextConfig(text_columns=columns),
            num_workers=1,
            **options,
        )
    )
    return str(folder / "t-*")
