"""Give each document a vector by a trained encoder."""

import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from absl import logging

from bert_data.curation.document import Document
from bert_data.curation.models.model_step import Embedder, EmbeddingConfig, ModelStep, open_embedder
from bert_data.curation.parameters import NewField
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.verdict import Verdict
from bert_data.storage import load_values, make_folder, open_scratch, read_json, write_bytes
from bert_data.work.rounds import Rounds

_VECTORS, _DIM = "vectors", "dim.json"
_DIGITS = 5


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class Embed(ModelStep):
    """Gives each document a vector by a trained encoder; it rejects nothing.

    The field `embedding` is a list of numbers, a vector of length 1: the mean of the encoder's last
    layer over the tokens of a window, and over windows by their tokens (Reimers and Gurevych 2019,
    arXiv:1908.10084, found it the best of three ways). The cosine of two documents is the sum of
    the products. In Parquet the field is a column of lists.

    Numbers are rounded to 5 digits after the point: their last bits depend on the documents that
    share a batch. The rounding changes a cosine by less than 0.00001.

    Attributes:
      model: file or folder of the encoder, see `model_score`.
      vocab_file: vocabulary or tokenizer of the model; null: the one that comes with it.
      do_lower_case: whether its vocabulary is of lower-cased text; null: as it says, or else true.
      max_seq_length: tokens of a window, [CLS] and [SEP] included; null: 512, or as many as the
        model reads.
      max_windows: windows that are read of a document, one after the other from its beginning.
      pooling: "mean"; "cls" for the first position of the last layer; "pooler" for BERT's layer
        above that.
      embedding_field: field that receives the vector.
    """

    name = "embed"
    pooling: Literal["mean", "cls", "pooler"] = "mean"
    embedding_field: NewField = "embedding"

    def _open(self) -> Embedder:
        return open_embedder(EmbeddingConfig(model=self.model_config(), pooling=self.pooling))

    def prepare(self, folder: Path) -> None:
        """Try the model, so that a mistake is reported before documents are read."""
        logging.info("%s: %s has vectors of %d numbers", self.name, self.model, self._open().dim)

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        """Write the vectors of the documents."""
        embedder = self._open()
        make_folder(path)
        write_bytes(path / _DIM, str(embedder.dim).encode())
        with open_scratch(path / _VECTORS) as file:
            for vectors in embedder.embed_many(document.text for document in documents):
                file.write(vectors.data)

    def decide(self, rounds: Rounds) -> Decisions:
        """Decide nothing: each document has its own vector."""
        return Decisions()

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Put the vectors on the documents."""
        dim = read_json(os.path.join(decided.observed, _DIM))
        vectors = load_values(os.path.join(decided.observed, _VECTORS), np.float32)
        for document, vector in zip(documents, vectors.reshape(-1, dim), strict=True):
            numbers = np.round(vector.astype(np.float64), _DIGITS).tolist()
            yield Verdict(document.with_fields(**{self.embedding_field: numbers}))
