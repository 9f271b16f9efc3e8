"""Pages with tags: `extract` comes first, or the run is refused."""

import pytest

from bert_data.curation.running.data_sets import DataSet, plan_all_shards
from bert_data.curation.running.markup import put_extract_first
from bert_data.curation.running.pipeline import Output, Pipeline, label_steps
from bert_data.curation.running.presets import PRESETS, SOURCES, preset_steps
from bert_data.curation.step import make_step
from bert_data.text.documents import TextConfig


def labels(folder, files, steps):
    (folder / "a.html").write_text("<html><body><p>One.</p></body></html>")
    (folder / "a.jsonl").write_text('{"text": "One."}\n')
    (folder / "a.WET").write_text("WARC/1.0\r\n\r\n")
    data_sets = tuple(DataSet(name=name[-3:], files=f"{folder}/{name}") for name in files)
    pipeline = Pipeline(data_sets=data_sets, steps=label_steps(steps), output=Output(files="o"))
    changed = put_extract_first(pipeline, plan_all_shards(data_sets, 1000))
    assert changed.data_sets == pipeline.data_sets
    return [each.label for each in changed.steps]


@pytest.mark.parametrize("preset", [name for name in PRESETS if name not in SOURCES])
def test_no_preset_reads_tags_as_text(tmp_path, preset):
    steps = preset_steps(preset)
    names = [step.name for step in steps]
    assert labels(tmp_path, ["a.jsonl"], steps) == names
    assert labels(tmp_path, ["a.WET"], steps) == names
    of_pages = labels(tmp_path, ["a.jsonl", "a.html"], steps)
    assert of_pages.count("extract") == 1
    assert set(of_pages[: of_pages.index("extract")]) <= {"url_filter"}
    assert [name for name in of_pages if name != "extract"] == [n for n in names if n != "extract"]


def test_a_pipeline_that_would_read_tags_is_refused(tmp_path):
    steps = [make_step(name, {}) for name in ("exact_duplicates", "repair", "extract", "c4")]
    assert labels(tmp_path, ["a.html"], steps)[2] == "extract"
    with pytest.raises(
        ValueError, match=r"data set tml has pages with tags, which step length wou"
    ):
        labels(tmp_path, ["a.html"], [make_step("length", {}), *steps])
    assert labels(tmp_path, ["a.jsonl"], [make_step("length", {}), *steps])[0] == "length"


def test_pages_in_rows_are_noticed(tmp_path):
    page = '{"text": "<html><body><p>One.</p></body></html>"}\n'
    (tmp_path / "b.jsonl").write_text(page * 3 + '{"text": "One."}\n')
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["extract", "length"]
    (tmp_path / "b.jsonl").write_text('{"text": "One."}\n' * 3 + page)
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["length"]
    (tmp_path / "b.jsonl").write_text(page + "{")  # the run says what is wrong
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["length"]


def test_only_pages_are_extracted(tmp_path):
    (tmp_path / "f.py").write_text("page = '<html><body>One.</body></html>'")
    (tmp_path / "a.html").write_text("<html><body><p>One.</p></body></html>")
    data_sets = (
        DataSet(name="code", files=f"{tmp_path}/f.py", text=TextConfig(input_format="code")),
        DataSet(name="web", files=f"{tmp_path}/a.html"),
    )
    shards = plan_all_shards(data_sets, 1000)

    def extracting(steps):
        pipeline = Pipeline(data_sets=data_sets, steps=label_steps(steps), output=Output(files="o"))
        steps = put_extract_first(pipeline, shards).steps
        return [each.step.data_sets for each in steps if each.step.name == "extract"]

    length = make_step("length", {"data_sets": ["code"]})
    assert extracting([length]) == [("web",)]
    assert extracting([length, make_step("extract", {"data_sets": "web"})]) == [("web",)]
    assert extracting([make_step("extract", {"data_sets": "code"})]) == [("web",), ("code",)]
    with pytest.raises(ValueError, match="data set web has pages with tags, which step length"):
        extracting([make_step("length", {"data_sets": "web"}), make_step("extract", {})])
