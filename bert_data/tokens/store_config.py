"""The settings of token stores made from text, and the tokens that mark their documents."""

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Annotated

from absl import logging

from bert_data.checks import check_bounds
from bert_data.settings import Formerly, OneOf, Within, check_settings
from bert_data.storage import MAX_SHARDS
from bert_data.text.text_config import DOCUMENT, LEVELS
from bert_data.text.without import WithoutConfig
from bert_data.tokens.provenance import ProvenanceConfig
from bert_data.tokens.store import CURATOR, MEGATRON, STORE_RULES
from bert_data.tokens.tokenizer_file import Tokenizer, TokenizerConfig, TokenizingConfig
from bert_data.work import MAX_WORKERS

USUAL_ENDS = (
    "<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|eos|>", "[EOS]", "[EOD]", "<eod>",
)  # fmt: skip
USUAL_STARTS = (
    "<s>", "<|begin_of_text|>", "<|startoftext|>", "<bos>", "<|bos|>", "[BOS]", "[BOD]", "<bod>",
)  # fmt: skip


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


def find_eod(tokenizer: Tokenizer, config: StoreSettings) -> int | None:
    """Return the id of the token that ends documents, or None if none is to end them."""
    flags = "append_eod", "eod_token"
    return _find_mark(tokenizer, config, flags, "end", USUAL_ENDS)


def find_bos(tokenizer: Tokenizer, config: StoreSettings) -> int | None:
    """Return the id of the token that begins documents, or None if none is to begin them."""
    flags = "prepend_bos", "bos_token"
    return _find_mark(tokenizer, config, flags, "start", USUAL_STARTS)


def _find_mark(
    tokenizer: Tokenizer,
    config: StoreSettings,
    flags: tuple[str, str],
    place: str,
    names: Sequence[str],
) -> int | None:
    """Return the id of the token that is set, or of the only usual one."""
    flag, token_flag = flags
    ids, token = tokenizer.ids, getattr(config, token_flag)
    if not getattr(config, flag):
        if token is not None:
            raise ValueError(f"`{token_flag}={token}` needs `{flag}`")
        return None
    if token is not None:
        if token not in ids:
            raise ValueError(f"`{token_flag}={token}` is not among the {len(ids):,} tokens")
        return ids[token]
    usual = [each for each in names if each in ids]
    if len(usual) > 1:
        raise ValueError(
            f"several tokens may {place} documents: {', '.join(usual)}; name one with"
            f" `{token_flag}`"
        )
    if not usual:
        raise ValueError(
            f"`{flag}`: the vocabulary has no usual {place}-of-document token; name one with"
            f" `{token_flag}`"
        )
    logging.info("%s (id %d) %ss each document", usual[0], ids[usual[0]], place)
    return ids[usual[0]]
