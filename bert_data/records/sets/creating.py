"""From text to a set of shards, by one stream of random numbers: the stages in their order.

text --Corpus.load--> token store --RecordStream--> spool --RecordStream.write--> shards
then the manifests, last

`partitioned.py` has the stages of sets whose text is cut into partitions.
"""

import dataclasses
import os

from bert_data.kernels import clock
from bert_data.records.instances.making import warn_of_few
from bert_data.records.sets.config import (
    Dataset,
    MemoryBudget,
    TimedStage,
    describe_set,
    open_set,
    report_left_out,
    share_stream_memory,
    with_counts,
)
from bert_data.records.sets.corpus import Corpus, open_corpus
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.partitioned import create_from_partitions
from bert_data.records.sets.record_set import RecordSet
from bert_data.records.sets.size_forecast import SizeForecast
from bert_data.records.sets.spool import RecordStream
from bert_data.storage import expand_outputs, file_size
from bert_data.tokens.corpus_warnings import warn_of_empty
from bert_data.work import Executor, count_workers, open_threads


def create_dataset(config: DatasetConfig) -> Dataset:
    """Make a set of shards from text; they appear together, or not at all."""
    if config.num_partitions:
        return create_from_partitions(config)
    num_shards = len(expand_outputs(config.output_file).paths)
    memory = share_stream_memory(config, count_workers(config.num_workers), num_shards)
    corpus = open_corpus(config)
    with (
        open_set(config, corpus.files.paths, overwrite=config.overwrite) as record_set,
        open_threads(memory[0].num_workers) as executor,
    ):
        dataset = _make(config, corpus, record_set, memory, executor)
        record_set.commit(dataset.manifest)
    return dataset


def _make(
    config: DatasetConfig,
    corpus: Corpus,
    record_set: RecordSet,
    memory: tuple[MemoryBudget, int],
    executor: Executor,
) -> Dataset:
    """Run the stages; the shards then have hidden names."""
    folder, start = record_set.outputs.work_dir, clock()
    store, tokens, read = corpus.load(os.path.join(folder, "tokens"), executor)
    name = "read tokens" if corpus.files.stores else "tokenize"
    stages = [_timed(name, start, tokens.num_bytes)]
    corpus.warn_of(tokens, config.instances.objective)
    empty_inputs = warn_of_empty(corpus.files.paths, read.with_text)
    left_out = report_left_out(config, corpus.text, read, record_set)
    stream = RecordStream(
        config=config,
        store=store,
        vocabulary=corpus.vocabulary,
        path=os.path.join(folder, "instances"),
        shards=record_set.shards,
        memory=memory,
        executor=executor,
    )
    start = clock()
    manifest = describe_set(config, corpus.text, corpus.tokenizer, corpus.vocabulary)
    forecast = SizeForecast(
        output=record_set.paths[0],
        num_text_bytes=tokens.num_bytes,
        num_store_bytes=store.ids.nbytes,
    )
    instances, examples = stream.spool_instances(config.num_examples, manifest, forecast.say)
    stages.append(_timed("make instances", start, file_size(stream.path)))
    start = clock()
    warn_of_few(instances.counts, config.instances)
    manifest = with_counts(manifest, tokens, instances.counts, left_out)
    files = stream.write(instances, manifest)
    stages.append(_timed("write records", start, sum(file.num_bytes for file in files)))
    return Dataset(
        inputs=corpus.files.paths,
        tokens=tokens,
        instances=instances.counts,
        stages=stages,
        manifest=dataclasses.replace(manifest, files=files, empty_inputs=empty_inputs),
        paths=record_set.paths,
        examples=examples,
        vocabulary=corpus.vocabulary,
    )


def _timed(name: str, start: float, num_bytes: int) -> TimedStage:
    """Return a stage that began at a time and has ended."""
    return TimedStage(name=name, seconds=clock() - start, num_bytes=num_bytes)
