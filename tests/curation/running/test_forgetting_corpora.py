"""Outputs of runs without some documents: what runs of the input without them write."""

import json
import random

import pytest

from bert_data.curation.running.forgetting_corpora import forget_curated
from bert_data.curation.running.pipeline import DataSet, Output, Pipeline, label_steps
from bert_data.curation.running.run import curate
from bert_data.curation.step import make_step
from bert_data.text.documents import TextConfig
from bert_data.tokens.forgetting_stores import ForgetConfig
from tests.rows import mostly_slow

COVERS = ("curation/running/earlier_run",)

STEPS = [
    ("length", {"min_words": 12}),
    ("exact_duplicates", {}),
    ("privacy", {}),
    ("near_duplicates", {"max_similarity": 0.6, "rows_per_band": 2}),
    ("exact_duplicates", {"ignore_punctuation": True, "data_sets": ["web"]}),
    ("gopher_quality", {"min_words": 14, "min_stop_words": 0}),
]


def texts(rng: random.Random, number: int) -> list[str]:
    """Texts of which many are equal or similar to others, a few are empty."""
    made: list[str] = []
    for _ in range(number):
        words = [f"word{rng.randrange(3000)}" for _ in range(rng.randrange(8, 40))]
        kind = rng.random()
        if made and kind < 0.6:
            words = rng.choice(made[-20:]).split()
            if kind > 0.2 and words:
                words[rng.randrange(len(words))] = rng.choice(["other", "a.b@c.org", "-", "x."])
            if kind > 0.5:
                words = words[: rng.randrange(5, 60)]
        made.append("" if kind > 0.98 else rng.choice([" ", "  "]).join(words))
    return made


class Corpus:
    """Two data sets in a few files, whose rows have ids."""

    def __init__(self, folder, rng: random.Random, *, id_field: str | None) -> None:
        self.folder, self.id_field, self.rng = folder, id_field, rng
        self.rows = {}
        for name in ("web/a", "web/b", "wiki/a"):
            rows = [
                {"text": text, "key" if id_field else "id": f"{name}-{n}", "n": n}
                for n, text in enumerate(texts(rng, rng.randrange(30, 90)))
            ]
            self.rows[name] = rows
        self.write("in", set())

    def write(self, folder: str, without: set[str]) -> None:
        for name, rows in self.rows.items():
            path = self.folder / folder / f"{name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            left = [row for row in rows if not {row.get("id"), row.get("key")} & without]
            path.write_text("".join(f"{json.dumps(row)}\n" for row in left))

    def curate(self, output: str, steps, *, read="in", overwrite=False, **changes) -> None:
        data_sets = tuple(
            DataSet(
                name=name,
                files=f"{self.folder}/{read}/{name}/*",
                text=TextConfig(on_error="skip"),
                id_field=self.id_field,
            )
            for name in ("web", "wiki")
        )
        pipeline = Pipeline(
            data_sets=data_sets,
            steps=label_steps([make_step(*each) for each in steps]),
            output=Output(files=f"{self.folder}/{output}"),
            **{"shard_mb": 0.008, **changes},
        )
        curate(pipeline, num_workers=1, overwrite=overwrite)

    def ids(self, share: float) -> set[str]:
        rows = [row for rows in self.rows.values() for row in rows if row["text"]]
        ids = [row.get("id", row.get("key")) for row in rows]
        return {each for each in ids if self.rng.random() < share} or {ids[0]}

    def forget(self, old: str, new: str, ids: set[str], file: str = "ids.txt") -> None:
        path = self.folder / file
        path.write_text("".join(f"{each}\n" for each in sorted(ids)))
        forget_curated(
            ForgetConfig(
                input_file=f"{self.folder}/{old}",
                documents=str(path),
                output_prefix=f"{self.folder}/{new}",
                num_workers=1,
            )
        )

    def files(self, folder: str) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in (self.folder / folder).iterdir()}


@mostly_slow("seed", range(6))
def test_random_pipelines(tmp_path, seed):
    rng = random.Random(seed)
    corpus = Corpus(tmp_path, rng, id_field=rng.choice([None, "key"]))
    steps = sorted(rng.sample(range(len(STEPS)), rng.randrange(1, len(STEPS) + 1)))
    steps = [STEPS[n] for n in steps]
    name = rng.choice(["o.jsonl", "o.jsonl.gz@2", "o.jsonl.zst@3"])
    corpus.curate(f"old/{name}", steps)
    ids = corpus.ids(rng.choice([0.005, 0.03, 0.1]))
    try:
        corpus.forget(f"old/{name}", f"new/{name}", ids)
    except ValueError as error:
        assert "has not met a document that comes back" in str(error)
        assert sum("duplicates" in name for name, _ in steps) > 1
        return
    corpus.curate(f"fresh/{name}", steps, without_documents=str(tmp_path / "ids.txt"))
    assert corpus.files("new") == corpus.files("fresh")


@pytest.mark.slow
def test_input_without_their_rows(tmp_path):
    """Twice some documents, against the input without either; only the list of these differs."""
    corpus = Corpus(tmp_path, random.Random(7), id_field="key")
    steps, whole_files = [STEPS[0], STEPS[3]], {"shard_mb": 16.0}
    corpus.curate("old/o.jsonl", steps, **whole_files)
    some, others = corpus.ids(0.05), corpus.ids(0.05)
    corpus.forget("old/o.jsonl", "once/o.jsonl", some)
    corpus.forget("once/o.jsonl", "new/o.jsonl", others - some, "others.txt")
    corpus.write("left", some | others)
    corpus.curate("fresh/o.jsonl", steps, read="left", **whole_files)
    new, fresh = corpus.files("new"), corpus.files("fresh")
    names = "curation.o.jsonl.json"
    told, expected = (json.loads(files.pop(names)) for files in (new, fresh))
    assert new == fresh
    for each in (told, expected):
        del each["settings"]
        for data_set in each["data_sets"]:
            del data_set["files"]
    assert told == expected
    assert sum(each["num_rejected"] for each in told["counts"]) > 20


@pytest.mark.slow
def test_what_cannot_be_reopened(tmp_path):
    corpus = Corpus(tmp_path, random.Random(1), id_field="key")

    some = corpus.ids(0)

    def error(steps, ids=some, name="o.jsonl", change=None, **changes) -> str:
        corpus.curate(f"old/{name}", steps, overwrite=True, **changes)
        if change is not None:
            change()
        with pytest.raises(ValueError, match=r".") as raised:
            corpus.forget(f"old/{name}", f"new/{name}", ids)
        assert not (tmp_path / "new").exists()
        return str(raised.value)

    again = "; run `curate` with its settings again, and with `without_documents="
    steps = [STEPS[3]]
    mix = error([("mix", {"epochs": {"web": 0.5, "wiki": 1}})])
    assert mix.startswith("step mix decides over all documents, which the ledger does not tell")
    assert again in mix
    assert "step exact_duplicates decides" in error([("exact_duplicates", {"max_copies": 2})])
    assert error(steps, ledger="all").startswith("a ledger of all documents has values")
    assert "o.txt is not JSON Lines" in error(steps, name="o.txt")
    assert "no document has one of the 1 id of" in error(steps, {"other"})
    rows = corpus.rows["wiki/a"]
    rows[0], rows[1] = rows[1], rows[0]
    is_changed = error([STEPS[0]], change=lambda: corpus.write("in", {"wiki/a-2"}))
    assert is_changed.startswith("the input, or the output with its ledger, is not what it was")
    rows = corpus.rows["web/a"]
    rows[2]["key"] = rows[3]["key"]
    corpus.write("in", set())
    assert error(steps).startswith("two documents have the same id in the run")


def test_crowded_buckets(tmp_path):
    """What many documents are compared with depends on them all."""
    corpus = Corpus(tmp_path, random.Random(1), id_field="key")
    words = [f"word{n}" for n in range(40)]
    for n in range(70):
        text = " ".join([*words, f"more{n}"])
        corpus.rows["web/a"].append({"text": text, "key": f"more-{n}", "n": n})
    corpus.write("in", set())
    corpus.curate("old/o.jsonl", [STEPS[3]])
    with pytest.raises(ValueError, match="met buckets of more documents than it compares"):
        corpus.forget("old/o.jsonl", "new/o.jsonl", {"wiki/a-1"})
