"""The settings of token stores made from text."""

import dataclasses
import math
import os
from typing import Annotated

from bert_data.checks import check_bounds
from bert_data.settings import Formerly, OneOf, Within, check_settings
from bert_data.storage import MAX_SHARDS
from bert_data.text.text_config import DOCUMENT, LEVELS
from bert_data.text.without import WithoutConfig
from bert_data.tokens.tokenizer_config import TokenizerConfig, TokenizingConfig
from bert_data.work import MAX_WORKERS

MEGATRON, CURATOR = STORE_RULES = ("megatron", "curator")

FIELDS = ("id", "url", "source", "license", "date")
"""Fields of documents; `ProvenanceConfig` has their names in the input."""

USUAL_ENDS = (
    "<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|eos|>", "[EOS]", "[EOD]", "<eod>",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProvenanceConfig:
    """The fields that say where documents come from.

    Attributes:
      provenance: record where each document came from in PREFIX.provenance.parquet: its number in
        the store, file, row, id, URL, source, licence and date.
      id_field: key or column of the documents' ids; those without such a field have none. meta.id
        is the field id of the object, or struct, meta.
      url_field: key or column of the URLs where documents were found.
      source_field: key or column of the collections that documents are from.
      license_field: key or column of their licences.
      date_field: key or column of their dates.
    """

    provenance: bool = True
    id_field: str = "id"
    url_field: str = "url"
    source_field: str = "source"
    license_field: str = "license"
    date_field: str = "date"

    @property
    def input_fields(self) -> dict[str, str]:
        """The names of the columns' fields in the input."""
        return {name: getattr(self, f"{name}_field") for name in FIELDS}


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreSettings(ProvenanceConfig, TokenizerConfig):
    """What a token store holds of a text.

    Attributes:
      level: what a sequence of the store is: document for GPT, sentence for BERT.
      append_eod: end each document with an end-of-document token.
      eod_token: the end-of-document token; by default the vocabulary's token with one of the usual
        names (<|endoftext|>, </s> and the like). If it has none, that is an error.
      prepend_bos: begin each document with a start-of-document token.
      bos_token: the start-of-document token; by default the vocabulary's token with one of the
        usual names (<s>, <|begin_of_text|> and the like). If it has none, that is an error.
      store_rules: whose format to write, byte for byte. megatron: those of Megatron-LM's
        preprocess_data: ids are uint16 for fewer than 65,500 tokens, else int32; for a document
        without tokens (jsonl, parquet; lines have none) only the boundary is repeated. curator:
        those of NeMo Curator's writer, of documents: ids are uint16 for up to 65,536 tokens; a
        document without tokens is a sequence of length 0, or of one token with `append_eod`.
    """

    level: Annotated[str, OneOf(LEVELS)] = DOCUMENT
    append_eod: bool = False
    eod_token: str | None = None
    prepend_bos: bool = False
    bos_token: str | None = None
    store_rules: Annotated[str, OneOf(STORE_RULES)] = MEGATRON

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreConfig(StoreSettings, WithoutConfig, TokenizingConfig):
    """Configuration of `make_stores`.

    Attributes:
      output_prefix: the store is PREFIX.bin and PREFIX.idx; with `num_partitions`, the stores are
        PREFIX-00000-of-0000N. With `store_rules=curator`, the folder of the stores, whose names
        are hashes of their files' paths.
      files_per_partition: with `store_rules=curator`: so many input files, sorted by their paths,
        are a store.
      num_partitions: cut the text into so many parts of about the same size, each a store of its
        own: PREFIX-00000-of-0000N. Those that are whole are not made again when the command is run
        again. Cuts are at ends of documents, between files that are compressed and between the row
        groups of Parquet files.
      num_workers: >= 1, threads in all. The files do not depend on this setting, nor on the next
        ones. With a cluster, partitions made at a time, each in one thread; 0: as many as it has
        cores.
      num_processes: so many partitions are made at a time, each in its own process with its
        share of the threads. More than one process needs a program whose main module can be
        imported (`if __name__ == "__main__"`). A cluster ignores it.
    """

    output_prefix: str
    files_per_partition: Annotated[int, Within(1, math.inf)] = 1
    num_partitions: Annotated[int, Within(1, MAX_SHARDS), Formerly("partitions")] = 1
    num_workers: Annotated[int, Within(0, MAX_WORKERS)] = 1
    num_processes: Annotated[int, Within(1, MAX_WORKERS)] = 1

    def __post_init__(self) -> None:
        check_settings(self)
        check_bounds("num_workers", self.num_workers, 1 - self.engine.is_cluster, MAX_WORKERS)
        is_curator = self.store_rules == CURATOR
        if is_curator and self.num_partitions > 1:
            raise ValueError(
                f"num_partitions is {self.num_partitions}, but `store_rules={CURATOR}` makes stores"
                " of whole files; set `files_per_partition` instead"
            )
        if not is_curator and self.files_per_partition > 1:
            raise ValueError(
                f"`files_per_partition={self.files_per_partition}` needs `store_rules=curator`"
            )
        check_prefix("output_prefix", self.stem if is_curator else self.output_prefix)

    @property
    def stem(self) -> str:
        """The output prefix, or the folder, without a final slash."""
        return self.output_prefix.rstrip("/")

    @property
    def folder(self) -> str:
        """The folder of the stores."""
        is_folder = self.store_rules == CURATOR
        return self.stem if is_folder else os.path.dirname(self.output_prefix) or "."

    def count_tasks(self, num_stores: int) -> int:
        """Return how many of the stores are made at a time; see `open_executor`."""
        if self.engine.is_cluster:
            return self.num_workers
        return min(self.num_processes, num_stores, self.num_workers)


def check_prefix(setting: str, prefix: str) -> None:
    """Refuse a prefix that names no store."""
    name = os.path.basename(prefix)
    if name in ("", ".", "..") or name.endswith((".bin", ".idx")):
        raise ValueError(
            f"{setting} is {prefix!r}; it must end with the name of a store, without .bin or .idx"
        )
