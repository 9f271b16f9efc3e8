"""The tokens from which instances are made: of text, or of token stores.

"corpus.txt"            --fill_store--> store in the work folder
"tokens.bin" ("tokens") --open_store--> sentences and documents that have tokens
"tokens@2"              --join_spans--> one store of both in the work folder

`Corpus.cut` divides either at documents, into blocks; `load_part` reads the tokens of some.
"""

import dataclasses
import errno
from collections.abc import Sequence

from bert_data.datasets.config import DatasetConfig
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
from bert_data.tokens.tokenizer_file import Tokenizer, load_tokenizer, vocabulary_of
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
    """Parts of files of text, or documents of token stores; `size` is about so many blocks."""

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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Corpus:
    """The files of a corpus, and how they are read."""

    files: CorpusFiles
    text: TextConfig
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    def check(self) -> None:
        """Refuse stores that do not fit, and warn of text that is probably not what it should be.

        Raises:
          ValueError: a store has another vocabulary, case or level.
        """
        if self.files.stores:
            do_lower_case = self.tokenizer.do_lower_case
            check_stores(self.files.stores, self.vocabulary, do_lower_case=do_lower_case)
        else:
            warn_of_text(self.files.paths, self.text, are_sentences=True)

    def warn_of(self, tokens: TokenCounts, objective: Objective) -> None:
        """Warn of tokens that a good corpus for an objective does not have."""
        warn_of_counts(
            dataclasses.asdict(tokens),
            paths=() if self.files.stores else self.files.paths,
            text=self.text,
            tokenizer=self.tokenizer,
            has_pairs=objective.label is not None,
        )

    def load(self, prefix: str, executor: Executor) -> tuple[TokenStore, TokenCounts]:
        """Check the corpus and open its tokens; text is tokenized first.

        Args:
          prefix: of the store to write, for text or several stores.

        Raises:
          ValueError: the text has no sentence; or see `check`.
        """
        self.check()
        if self.files.stores:
            whole = CorpusPart(documents=[StoreSpan(prefix=name) for name in self.files.stores])
        else:
            whole = CorpusPart(text=as_spans(self.files.paths))
        return self.load_part(whole, prefix, executor, may_be_empty=False)

    def load_part(
        self, part: CorpusPart, prefix: str, executor: Executor, *, may_be_empty: bool = True
    ) -> tuple[TokenStore, TokenCounts]:
        """Open the tokens of a part of a checked corpus, whose text may have no sentence."""
        if part.documents:
            return load_documents(part.documents, self.vocabulary, prefix)
        filled = fill_store(
            part.text,
            self.tokenizer,
            prefix,
            text=self.text,
            executor=executor,
            may_be_empty=may_be_empty,
        )
        return open_store(prefix), filled.counts

    def cut(self, num_parts: int) -> list[CorpusPart]:
        """Cut it into blocks at documents; they depend on nothing but the files and `num_parts`.

        Blocks have 512 kB of text, or of tokens; more where there would be more than 16,384, and
        less where there would be fewer than 16 for each part. Compressed files are not cut.

        Raises:
          ValueError: there are fewer blocks than parts.
        """
        paths, stores = self.files.paths, self.files.stores
        num_bytes = sum(status.num_bytes for status in read_statuses(paths) if status)
        least, most = _LEAST_OF_PART * num_parts, min(num_bytes // _BLOCK_BYTES, _MANY_BLOCKS)
        num_blocks = max(least, most)
        if stores:
            blocks = [CorpusPart(documents=s, size=n) for s, n in cut_stores(stores, num_blocks)]
        else:
            planned = plan_blocks(paths, find_plain_format(paths, self.text), num_blocks)
            blocks = [CorpusPart(text=spans, size=size) for spans, size in planned]
        if len(blocks) < num_parts:
            kind, names = ("token store", stores) if stores else ("file", paths)
            raise ValueError(
                f"{num_parts} partitions are requested, but the {len(names)} {kind}(s),"
                f" {names[0]!r} first, can only be cut into {len(blocks)} at ends of documents"
            )
        return blocks

    def count_rows_before(
        self, blocks: Sequence[CorpusPart], executor: Executor
    ) -> Sequence[CorpusPart]:
        """Add to blocks of text how many lines come before, if `load_part` needs that."""
        if self.files.stores:
            return blocks
        text_format = find_plain_format(self.files.paths, self.text)
        if not numbers_rows(text_format, self.tokenizer):
            return blocks
        counted = count_rows([block.text for block in blocks], text_format, executor)
        pairs = zip(blocks, counted, strict=True)
        return [dataclasses.replace(block, text=spans) for block, spans in pairs]


def open_corpus(config: DatasetConfig) -> Corpus:
    """Find the files of a set, and load the tokenizer.

    Raises:
      ValueError: see `find_corpus`; or the vocabulary lacks a token that is needed, or pieces
        though whole words are masked.
    """
    files = find_corpus(config.input_file, config.text)
    tokenizer = load_tokenizer(
        config.vocab_file,
        config.tokenizer_file,
        do_lower_case=config.do_lower_case,
        backend=config.tokenizer_backend,
        special_tokens=config.special_tokens,
    )
    vocabulary = vocabulary_of(tokenizer)
    if config.instances.do_whole_word_mask and not vocabulary.continuation.any():
        raise ValueError(
            "`do_whole_word_mask` needs a vocabulary with pieces that continue words, such as ##s;"
            f" {vocabulary.path} has none"
        )
    return Corpus(files=files, text=config.text, tokenizer=tokenizer, vocabulary=vocabulary)
