"""GPT samples and their documents, against the tokens of the samples."""

import json

import numpy as np
import pytest

from bert_data.inspection.configs import SampleConfig, TraceConfig
from bert_data.inspection.tracing.traced_samples import TracedSamples
from bert_data.tokens.store import open_store
from bert_data.tokens.store_making import StoreConfig, make_stores
from tests.recipes.stores import write_vocabulary


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Stores a and b@2 of documents with ids, some of them empty, some longer than samples."""
    path = tmp_path_factory.mktemp("samples")
    draw = np.random.default_rng(3)
    for name, num_documents, num_partitions in (("a", 40, 1), ("b", 60, 2)):
        rows = [
            {"id": f"{name}{n}", "text": " ".join(f"w{3 * w}" for w in draw.integers(0, 190, size))}
            for n, size in enumerate(draw.integers(0, 25, num_documents).tolist())
        ]
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        make_stores(
            StoreConfig(
                input_file=f"{path}/{name}.jsonl",
                output_prefix=f"{path}/{name}",
                vocab_file=write_vocabulary(path),
                num_partitions=num_partitions,
            )
        )
    return path


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        (["a"], {}),
        (["a"], {"num_samples": [150], "add_extra_token_to_sequence": False}),
        (["a"], {"split": "5,5", "split_name": "valid", "seq_length": 30,
                 "drop_last_partial_validation_sequence": False}),
        (["a", "b@2"], {"weights": [0.2, 0.8], "num_samples": [200]}),
        (["b@2", "a"], {}),
    ],
)  # fmt: skip
def test_all_tokens_of_all_samples(folder, names, settings):
    names = ",".join(f"{folder}/{name}" for name in names)
    samples = TracedSamples.of_stores(names, SampleConfig(**{"seq_length": 8, **settings}))
    (folder / "ids").write_text("".join(f"{name}{n}\n" for name in "ab" for n in range(60)))
    own = {"input_file": names, "samples": samples.dataset.config}
    texts, num_tokens = samples.dataset.texts(range(len(samples.dataset)))
    held = np.zeros(texts.shape, np.int64)
    shown = set()
    for document in samples.trace(TraceConfig(documents=f"{folder}/ids", **own)):
        ids = open_store(document.prefix).ids
        for record in document.records:
            assert record.place == record.record and record.tokens.stop <= document.tokens[1]
            columns = np.array(record.columns)
            held[record.record, columns] += 1
            assert (texts[record.record, columns] == ids[np.array(record.tokens)]).all()
            shown.add((record.record, document.origin.id, len(record.tokens)))
    for number, size in enumerate(num_tokens.tolist()):
        assert (held[number, :size] == 1).all() and not held[number, size:].any()
        if number % 7 == 0:
            back = samples.trace_record(TraceConfig(record=str(number), **own))
            assert sum(each.num_tokens for each in back) == size
            assert {(number, e.origin.id, e.num_tokens) for e in back} <= shown
