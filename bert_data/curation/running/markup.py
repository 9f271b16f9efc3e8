"""Put the step `extract` before steps that would read the tags of web pages as text.

web pages, steps c4, language             ->  extract, c4, language (for that data set alone)
web pages, steps c4, extract              ->  refused
JSON Lines, steps c4, language            ->  the same
JSON Lines of web pages, steps c4         ->  extract, c4
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from absl import logging

from bert_data.curation.document import Document, is_html
from bert_data.curation.running.data_sets import DataSet, TextShard
from bert_data.curation.running.pipeline import Pipeline, label_steps
from bert_data.curation.step import make_step
from bert_data.errors import CorruptDataError
from bert_data.text.formats import find_format, read_documents

EXTRACT = "extract"
_PLAIN_ENDING = ".wet"  # WARC files of texts that a crawl has extracted
_SAMPLE = 32  # documents of a data set's first shard


def put_extract_first(pipeline: Pipeline, shards: Sequence[TextShard]) -> Pipeline:
    """Return the pipeline with a step `extract` for the data sets of pages with tags.

    Raises:
      ValueError: the pipeline has the step, but after one that would read the tags as text.
    """
    missing = []
    for name in dict.fromkeys(_names_of_markup(pipeline, shards)):
        judging = [each for each in pipeline.steps if each.step.judges(name)]
        names = [each.step.name for each in judging]
        if EXTRACT not in names:
            missing.append(name)
            continue
        for labelled in judging[: names.index(EXTRACT)]:
            if not labelled.step.accepts_markup:
                raise ValueError(
                    f"data set {name} has pages with tags, which step {labelled.label} would read"
                    f" as text; put the step {EXTRACT} before it, or leave it out, and it goes"
                    " first"
                )
    if not missing:
        return pipeline
    logging.info("%s: pages with tags; the step %s goes first", ", ".join(missing), EXTRACT)
    others = len(pipeline.data_sets) > len(missing)
    extract = make_step(EXTRACT, {"data_sets": missing} if others else {})
    steps = [extract, *(each.step for each in pipeline.steps)]
    return dataclasses.replace(pipeline, steps=label_steps(steps))


def _names_of_markup(pipeline: Pipeline, shards: Sequence[TextShard]) -> Iterator[str]:
    sampled: set[int] = set()
    for shard in shards:
        data_set = pipeline.data_sets[shard.data_set]
        for path in {span.path for span in shard.spans}:
            text_format = find_format([path], data_set.text)
            if text_format.is_markup:
                name = path.lower().removesuffix(".gz").removesuffix(".zst")
                if not name.endswith(_PLAIN_ENDING):
                    yield data_set.name
            elif shard.data_set not in sampled and not text_format.is_corpus:
                sampled.add(shard.data_set)
                if _are_pages(shard, data_set):
                    yield data_set.name


def _are_pages(shard: TextShard, data_set: DataSet) -> bool:
    """Whether most of the first documents of a shard are web pages.

    What cannot be read is left to the run, which says where it is.
    """
    try:
        blocks = read_documents(shard.spans, dataclasses.replace(data_set.text, keep_fields=True))
        rows = itertools.islice((row for block in blocks for row in block.documents), _SAMPLE)
        pages = [is_html(Document("", "", row.whole_text, row.fields or {})) for row in rows]
    except (CorruptDataError, OSError, ValueError):
        return False
    return sum(pages) > len(pages) / 2
