"""Keep documents that a language model of good text finds plausible."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging

from bert_data.curation.document import Document
from bert_data.curation.parameters import Names
from bert_data.curation.quality.ngram_model import most_ngram_words, open_ngram_model, train_model
from bert_data.curation.quality.percentiles import Percentile, PercentileStep, save_values
from bert_data.curation.step import register
from bert_data.curation.words import Words, split_words
from bert_data.errors import named_in_errors
from bert_data.settings import Within
from bert_data.storage import expand_inputs
from bert_data.text.formats import read_documents
from bert_data.text.text_config import TextConfig


@register
class Perplexity(PercentileStep):
    """Keeps the documents most like a reference text, by a language model trained on it.

    CCNet does this with Wikipedia for each language (Wenzek et al. 2020, arXiv:1911.00359):
    documents are ordered by their perplexity per word and divided into head, middle and tail, here
    at the 30th and 60th percentile. The tail is rejected; `max_percentile: 100` keeps everything.
    The model uses n-grams of words as written, with Kneser-Ney smoothing (Chen and Goodman 1999);
    CCNet uses 5-grams of SentencePiece tokens.

    A document's percentile is the share of all documents with a lower perplexity. The fields
    `perplexity` and `perplexity_bucket` ("head", "middle", "tail") stay on the document.
    Percentiles are comparable within one language only, so select the language first.

    Attributes:
      reference: paths and patterns of files of good text, in any text format.
      text_field: field (JSON) or column (Parquet) that holds their text.
      max_perplexity: greatest perplexity of a kept document; null: no limit.
      order: number of words of the longest n-grams, 2 to 5.
      max_words: size of the model's vocabulary, at most 2,097,148 with order 3, 32,764 with order 4
        and 4,092 with order 5.
      max_ngrams: number of n-grams to count, at least 1,000; training takes about 60 bytes for
        each.
    """

    name = "perplexity"
    own_fields = score_field, bucket_field = "perplexity", "perplexity_bucket"
    higher_is_better = False
    rules_of_value = ("max_perplexity",)
    reference: Names
    text_field: str = "text"
    max_percentile: Percentile = 60.0
    max_perplexity: Annotated[float, Within(1)] | None = None
    head_percentile: Percentile = 30.0
    middle_percentile: Percentile = 60.0
    order: Annotated[int, Within(2, 5)] = 3
    max_words: Annotated[int, Within(1)] = 200_000
    max_ngrams: Annotated[int, Within(1000, 2**30)] = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_words > (most := most_ngram_words(self.order)):
            raise ValueError(
                f"max_words is {self.max_words}; it must be at most {most} with order {self.order}"
            )

    def prepare(self, folder: Path) -> None:
        paths = [path for each in self.reference for path in expand_inputs(each)]
        with named_in_errors(f"reference {', '.join(self.reference)}"):
            num_words, num_ngrams = train_model(
                folder,
                lambda: read_words(paths, self.text_field),
                *(self.order, self.max_words, self.max_ngrams),
            )
            if not num_words:
                raise ValueError("no word occurs twice; a model needs more text")
        logging.info("%s: a model of %d words and %d n-grams", self.name, num_words, num_ngrams)

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        model = open_ngram_model(folder)
        values = array("d", (model.perplexity(document.words) for document in documents))
        save_values(path, np.array(values))


def read_words(paths: Sequence[str], text_field: str) -> Iterator[Words]:
    """Yield the words of each text in the files."""
    for block in read_documents(paths, TextConfig(text_field=text_field)):
        yield from (split_words(document.whole_text) for document in block.documents)
