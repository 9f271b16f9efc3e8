"""All that decides what a run makes is in the name of its work folder, and nothing else is."""

import dataclasses

from bert_data.curation.running.data_sets import DataSet, plan_all_shards
from bert_data.curation.running.pipeline import Output, Pipeline, describe_work, label_steps
from bert_data.work import fingerprint
from tests.curation.fake_steps import Few, Without
from tests.curation.running.test_run import web  # noqa: F401 (a fixture)


def test_all_that_decides_what_is_made_is_in_the_fingerprint(tmp_path, web):  # noqa: F811
    (tmp_path / "letters.txt").write_text("y")
    pipeline = Pipeline(
        data_sets=(DataSet(name="web", files=str(web)),),
        steps=label_steps([Few(), Without(letter=str(tmp_path / "letters.txt"))]),
        output=Output(files="o"),
        shard_bytes=1000,
    )

    def print_of(changed: Pipeline = pipeline, name: str = "o") -> str:
        shards = plan_all_shards(changed.data_sets, changed.shard_bytes)
        return fingerprint(describe_work(changed, shards, name))

    first = print_of()
    assert print_of() == first
    (data_set,) = pipeline.data_sets
    changes = [
        {"steps": label_steps([Few(max_xs=4), Without(letter=str(tmp_path / "letters.txt"))])},
        {"steps": pipeline.steps[::-1]},
        {"ledger": "all"},
        {"max_document_bytes": 9},
        {"shard_bytes": 2000},
        {"count_words": False},
        {"on_error": "strict"},
        {"output": Output(files="o", split_sentences=True)},
        {"data_sets": (dataclasses.replace(data_set, name="wiki"),)},
        {"data_sets": (dataclasses.replace(data_set, id_field="n"),)},
    ]
    prints = [print_of(dataclasses.replace(pipeline, **change)) for change in changes]
    prints += [first, print_of(name="p")]
    (tmp_path / "letters.txt").write_text("yz")
    prints.append(print_of())
    web.write_bytes(web.read_bytes())
    prints.append(print_of())
    assert len(set(prints)) == len(prints)
    same = dataclasses.replace(pipeline, output=Output(files="o@9", output_format="jsonl"))
    assert print_of(same) == prints[-1]  # they only decide how the end is written
