"""Documents traced through curation: against the ledger, the output and the input."""

import json

import pytest
from pyarrow import parquet

from bert_data.curation.running.pipeline import DataSet, Output, Pipeline, label_steps
from bert_data.curation.running.run import curate
from bert_data.curation.step import make_step
from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.tracing.decisions import open_curated
from bert_data.text.documents import TextConfig
from tests.rows import mostly_slow

STEPS = (
    ("length", {"min_words": 2, "data_sets": ["web"]}),
    ("privacy", {}),
    ("exact_duplicates", {}),
)
TEXTS = [
    "one",
    "by a.b@c.org to you",
    "say it twice",
    "say it twice",
    "and end here",
    "or there",
    "",
]


@pytest.fixture
def make(tmp_path):
    """A function that curates two data sets of the same texts, and traces documents of them."""
    for name in ("web", "wiki"):
        rows = [{"text": t, "id": f"{name}{4 if n == 5 else n}"} for n, t in enumerate(TEXTS)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    def run(output="out.jsonl.gz@2", rejected=None, **settings):
        pipeline = Pipeline(
            data_sets=tuple(
                DataSet(name=n, files=f"{tmp_path}/{n}.jsonl", text=TextConfig(on_error="skip"))
                for n in ("web", "wiki")
            ),
            steps=label_steps([make_step(*each) for each in STEPS]),
            output=Output(
                files=f"{tmp_path}/{output}",
                rejected_file=rejected and f"{tmp_path}/{rejected}",
            ),
            **settings,
        )
        curate(pipeline, num_workers=1, overwrite=True)

        def trace(**sought):
            opened = open_curated(f"{tmp_path}/{output}")
            return opened.trace(TraceConfig(input_file=output, **sought))

        return trace

    return run


@mostly_slow("output", ["out.jsonl.gz@2", "out.parquet@2", "out.txt@2"])
@mostly_slow("ledger", ["all", "rejected"])
@mostly_slow("rejected", [None, "rejected.jsonl@2"])
def test_each_document_of_a_run(tmp_path, make, output, ledger, rejected):
    trace = make(output, rejected, ledger=ledger)
    told = {}
    for path in sorted(tmp_path.glob("ledger.*")):
        for row in parquet.read_table(path).to_pylist():
            steps = told.setdefault(row["document"], {})
            steps.setdefault(row["step"], (row["outcome"], row["num_bytes"], {}))[2][
                row["rule"]
            ] = row["failed"]
    is_text = output.startswith("out.txt")
    num_kept = 0
    for name in ("web", "wiki"):
        for n in range(len(TEXTS)):
            place = f"{name}/{name}.jsonl:{n + 1}"
            own = told.get(place, {})
            is_kept = all(outcome == "kept" for outcome, *_ in own.values())
            if is_kept and is_text and (rejected or ledger == "rejected"):
                continue  # nothing has its name
            (found,) = trace(row=f"{name}.jsonl:{n + 1}")
            assert (found.name, found.outcome) == (place, "kept" if is_kept else "rejected")
            assert {
                each.step: (each.outcome, each.num_bytes, {m.rule: m.failed for m in each.measures})
                for each in found.decisions
                if each.measures
            } == own
            steps = [each.step for each in found.decisions]
            judging = ["read", *(["length"] * (name == "web")), "privacy", "exact_duplicates"]
            assert steps == judging[: len(steps)]
            assert (len(steps) == len(judging)) or not is_kept
            assert bool(found.written) == (is_kept and not is_text)
            num_kept += is_kept
            if found.written and n == 1:
                assert (found.num_bytes_read, found.num_bytes) == (19, 17)  # an address is left out
    assert num_kept > 2 or is_text


@pytest.mark.parametrize("output", ["out.jsonl@2", "out.parquet@2"])
@pytest.mark.parametrize("rejected", [None, "rejected.jsonl"])
def test_own_ids(make, output, rejected):
    trace = make(output, rejected)
    first, second = (trace(document=f"web{n}")[0] for n in (0, 2))
    assert (first.name, first.id, first.outcome) == ("web/web.jsonl:1", "web0", "rejected")
    assert (second.id, second.outcome) != (first.id, second.name)
    again = trace(document="web4")  # two documents have it
    assert [each.name for each in again] == ["web/web.jsonl:5", "web/web.jsonl:6"]
    assert {each.id for each in again} == {"web4"}
    with pytest.raises(ValueError, match=r"neither the documents of .* have it"):
        trace(document="web9")
    with pytest.raises(ValueError, match="`text` finds documents of token stores"):
        trace(text="say", vocab_file="v")


def test_many_documents(tmp_path, make, caplog):
    (tmp_path / "ids.txt").write_text("web0\nno\nwiki1\n")
    found = make()(documents=str(tmp_path / "ids.txt"))
    assert [each.id for each in found] == ["web0", "wiki1"]
    assert "no is no document of the run" in caplog.text


def test_rows_of_a_run_that_names_documents_by_a_field(tmp_path):
    # copies of the first row are rejected, the second loses its address, "0" is a name like others
    texts = ["say it twice", "by a.b@c.org to you", "say it twice"]
    rows = [{"text": text, "doc": name} for text, name in zip(texts, ["a", 0, "c"], strict=True)]
    (tmp_path / "web.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data_set = DataSet(name="web", files=f"{tmp_path}/web.jsonl", text=TextConfig(), id_field="doc")
    pipeline = Pipeline(
        data_sets=(data_set,),
        steps=label_steps([make_step(name, {}) for name in ("privacy", "exact_duplicates")]),
        output=Output(files=f"{tmp_path}/out.jsonl"),
    )
    curate(pipeline, num_workers=1)
    opened = open_curated(f"{tmp_path}/out.jsonl")
    told = {}
    for row in (1, 2, 3):
        by_row = TraceConfig(input_file="out.jsonl", row=f"web.jsonl:{row}")
        (told[row],) = opened.trace(by_row)
    assert [told[row].name for row in (1, 2, 3)] == ["a", "0", "c"]
    assert [told[row].outcome for row in (1, 2, 3)] == ["kept", "kept", "rejected"]
    assert told[2].num_bytes_read == len(texts[1]) != told[2].num_bytes
    with pytest.raises(ValueError, match=r"row is 'web.jsonl:4'; neither"):
        opened.trace(TraceConfig(input_file="out.jsonl", row="web.jsonl:4"))
