"""The tokens from which instances are made: of text, or of token stores.

"corpus.txt"            --fill_store--> store in the work folder
"tokens.bin" ("tokens") --open_store--> sentences and documents that have tokens
"tokens@2"              --join_spans--> one store of both in the work folder

cut_corpus divides either at documents, into blocks; `load_part` reads the tokens of some of them.
"""

import dataclasses
import errno
from collections.abc import Sequence

from bert_data.datasets.stored_corpus import check_stores, cut_stores, load_documents
from bert_data.objectives.objective import Objective
from bert_data.storage import exists, read_statuses
from bert_data.text.documents import AUTO, Span, TextConfig, as_spans
from bert_data.text.formats import find_plain_format, input_files
from bert_data.text.partitions import count_rows, plan_blocks
from bert_data.tokens.corpus_warnings import warn_of_counts, warn_of_text
from bert_data.tokens.filling import TokenCounts, fill_store, numbers_rows
from bert_data.tokens.merging import StoreSpan
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_names import are_store_names, expand_stores
from bert_data.tokens.store_notes import store_paths
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor

STORE = "store"
_BLOCK_BYTES, _MANY_BLOCKS, _LEAST_OF_PART = 1 << 19, 1 << 14, 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusFiles:
    """The files to read; `stores` are the prefixes of token stores, or () if they are text."""

    paths: Sequence[str]
    stores: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusPart:
    """A part of a corpus: parts of its files of text, or documents of its token stores.

    Attributes:
      size: about so many blocks.
    """

    text: Sequence[Span] = ()
    documents: Sequence[StoreSpan] = ()
    size: int = 1


def join_blocks(parts: Sequence[CorpusPart]) -> CorpusPart:
    """Return several parts as one."""
    return CorpusPart(
        text=[span for part in parts for span in part.text],
        documents=[span for part in parts for span in part.documents],
        size=sum(part.size for part in parts),
    )


def find_corpus(input_file: str, text: TextConfig) -> CorpusFiles:
    """Find the files, and whether they are text or token stores.

    Raises:
      ValueError: there is no file, or they have several formats, or are not all of stores.
      OSError: a file of a store is missing.
    """
    names = input_file.split(",")
    is_store = text.input_format == AUTO and are_store_names(names)
    if is_store or text.input_format == STORE:
        stores = list(dict.fromkeys(expand_stores(names)))  # both files of one may be named
        paths = [path for prefix in stores for path in store_paths(prefix)[:2]]
        for path in paths:
            if not exists(path):
                reason = "No such file; a token store is a .bin and an .idx file"
                if exists(input_file):
                    reason += f" (`input_format=lines` reads {input_file} as text)"
                raise FileNotFoundError(errno.ENOENT, reason, path)
        return CorpusFiles(paths=paths, stores=stores)
    paths = input_files(input_file, text)
    find_plain_format(paths, text)
    return CorpusFiles(paths=paths)


def cut_corpus(files: CorpusFiles, text: TextConfig, num_parts: int) -> list[CorpusPart]:
    """Cut a corpus into blocks at documents; they depend on nothing but the files and `num_parts`.

    Blocks have 512 kB of text, or of tokens; more where there would be more than 16,384, and less
    where there would be fewer than 16 for each part. Compressed files are not cut.

    Raises:
      ValueError: there are fewer blocks than parts.
    """
    names = files.stores or files.paths
    num_bytes = sum(status.num_bytes for status in read_statuses(files.paths) if status)
    num_blocks = max(_LEAST_OF_PART * num_parts, min(num_bytes // _BLOCK_BYTES, _MANY_BLOCKS))
    if files.stores:
        stored = cut_stores(files.stores, num_blocks)
        blocks = [CorpusPart(documents=spans, size=size) for spans, size in stored]
    else:
        text_format = find_plain_format(files.paths, text)
        planned = plan_blocks(files.paths, text_format, num_blocks)
        blocks = [CorpusPart(text=spans, size=size) for spans, size in planned]
    if len(blocks) < num_parts:
        kind = "token store" if files.stores else "file"
        raise ValueError(
            f"{num_parts} partitions are requested, but the {len(names)} {kind}(s), {names[0]!r}"
            f" first, can only be cut into {len(blocks)} at ends of documents"
        )
    return blocks


def count_rows_before(
    files: CorpusFiles,
    text: TextConfig,
    tokenizer: Tokenizer,
    blocks: Sequence[CorpusPart],
    executor: Executor,
) -> list[CorpusPart]:
    """Add to blocks of text how many lines come before, if `load_part` needs that."""
    if files.stores:
        return list(blocks)
    text_format = find_plain_format(files.paths, text)
    if not numbers_rows(text_format, tokenizer):
        return list(blocks)
    counted = count_rows([block.text for block in blocks], text_format, executor)
    return [
        dataclasses.replace(block, text=spans) for block, spans in zip(blocks, counted, strict=True)
    ]


def load_corpus(
    files: CorpusFiles,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    prefix: str,
    *,
    text: TextConfig,
    executor: Executor,
) -> tuple[TokenStore, TokenCounts]:
    """Open the tokens of a corpus; text is tokenized first.

    Args:
      prefix: of the store to write, for text or several stores.
      executor: tokenizes text.

    Raises:
      ValueError: the text has no sentence, or a store has another vocabulary, case or level.
    """
    check_corpus(files, tokenizer, vocabulary, text=text)
    if files.stores:
        whole = CorpusPart(documents=[StoreSpan(prefix=store) for store in files.stores])
    else:
        whole = CorpusPart(text=as_spans(files.paths))
    return load_part(
        whole, tokenizer, vocabulary, prefix, text=text, executor=executor, may_be_empty=False
    )


def check_corpus(
    files: CorpusFiles, tokenizer: Tokenizer, vocabulary: Vocabulary, *, text: TextConfig
) -> None:
    """Refuse stores that do not fit, and warn of text that is probably not what it should be.

    For arguments and errors see `load_corpus`.
    """
    if files.stores:
        check_stores(files.stores, vocabulary, do_lower_case=tokenizer.do_lower_case)
    else:
        warn_of_text(files.paths, text, are_sentences=True)


def warn_of_tokens(
    files: CorpusFiles,
    text: TextConfig,
    tokenizer: Tokenizer,
    tokens: TokenCounts,
    objective: Objective,
) -> None:
    """Warn of tokens that a good corpus for an objective does not have."""
    warn_of_counts(
        dataclasses.asdict(tokens),
        paths=() if files.stores else files.paths,
        text=text,
        tokenizer=tokenizer,
        has_pairs=objective.label is not None,
    )


def load_part(
    part: CorpusPart,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    prefix: str,
    *,
    text: TextConfig,
    executor: Executor,
    may_be_empty: bool = True,
) -> tuple[TokenStore, TokenCounts]:
    """Open the tokens of a part of a checked corpus; see `load_corpus`.

    Args:
      prefix, executor: see `load_corpus`.
      may_be_empty: whether text may have no sentence.
    """
    if part.documents:
        return load_documents(part.documents, vocabulary, prefix)
    filled = fill_store(
        part.text, tokenizer, prefix, text=text, executor=executor, may_be_empty=may_be_empty
    )
    return open_store(prefix), filled.counts
