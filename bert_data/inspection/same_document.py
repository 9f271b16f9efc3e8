"""Find random next sentences that are not random: of the same document as the first segment.

Records do not say which documents they come from, but the text or the token store shows it: 16
tokens from the middle of both segments are looked for, of a sample of records. Those that several
documents hold are left out.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.figures import Figure
from bert_data.inspection.sources.instances import decode_block, short_records
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.records import fields
from bert_data.records.sets.corpus import Corpus, CorpusFiles
from bert_data.text.documents import as_spans
from bert_data.text.formats import find_plain_format
from bert_data.text.text_config import SENTENCE, TextConfig
from bert_data.tokens.store import TokenStore
from bert_data.tokens.store_files import words_of_stores
from bert_data.tokens.tokenizer_file import Tokenizer, vocabulary_of
from bert_data.work import open_threads

WINDOW = 16
"""Tokens that are looked for; shorter segments are left out."""

MOST_PAIRS = 2000

_RUN_TOKENS = 1 << 18
_FACTOR = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
_POWERS = np.array([pow(_FACTOR, WINDOW - i, 1 << 64) for i in range(WINDOW)], np.uint64)
_FILTER_BITS = 18
_NOWHERE, _SEVERAL = -1, -2

_Run = tuple[NDArray[np.integer], NDArray[np.int64]]
"""Consecutive tokens of a corpus, and the number of the document of each."""


def count_same_document(
    shards: Sequence[Shard], files: CorpusFiles, text: TextConfig, tokenizer: Tokenizer
) -> Figure:
    """Return how many random next sentences are of the same document, in a sample."""
    windows = sample_windows(shards)
    if not files.stores:
        runs = _runs_of_text(files.paths, text, tokenizer)
    else:
        vocabulary = vocabulary_of(tokenizer)
        vocabulary = vocabulary.of_words(words_of_stores(files.stores))
        corpus = Corpus(files=files, text=text, tokenizer=tokenizer, vocabulary=vocabulary)
        store, *_ = corpus.load("", open_threads(1))
        runs = ((vocabulary.plain(ids), places) for ids, places in _runs_of_store(store))
    documents = find_documents(windows.reshape(-1, WINDOW), runs).reshape(-1, 2)
    if documents.size and (documents == _NOWHERE).all():
        raise ValueError(
            f"none of the {documents.size:,} segments of records that were looked for is in"
            f" {files.paths[0]}; text_file must be the text that the records were made from, and"
            " do_lower_case its case"
        )
    located = documents[(documents >= 0).all(axis=1)]
    return Figure(
        "of them, of the same document",
        int(np.count_nonzero(located[:, 0] == located[:, 1])),
        len(located),
        "0.0%",
        is_sample=True,
    )


def sample_windows(shards: Sequence[Shard]) -> NDArray[np.int32]:
    """Return int32[pairs, 2, WINDOW], tokens of both segments of records with random ones."""
    most = -(-MOST_PAIRS // len(shards))
    pairs: list[NDArray[np.int32]] = []
    for shard in shards:
        windows: list[NDArray[np.int32]] = []
        for block in map(short_records, read_blocks(shard, Damage(skip=True))):
            if block.num_records:
                windows += _windows_of(block, shard.kind)
            if len(windows) >= most:
                break
        pairs += windows[:most]
    return np.array(pairs, np.int32).reshape(-1, 2, WINDOW)


def _windows_of(block: RecordBlock, kind: fields.RecordKind) -> list[NDArray[np.int32]]:
    batch = decode_block(block, kind)
    ids, segments, positions, labels = (
        batch[field.name]
        for field in (
            fields.INPUT_IDS,
            fields.SEGMENT_IDS,
            fields.MASKED_LM_POSITIONS,
            fields.MASKED_LM_IDS,
        )
    )
    pairs = []
    for row in np.flatnonzero(batch[fields.NEXT_SENTENCE_LABELS.name] == 1).tolist():
        length, count = block.lengths[row].tolist()
        if (positions[row, :count] >= length).any():
            continue
        text = ids[row, :length].astype(np.int32)
        text[positions[row, :count]] = labels[row, :count]
        begin = length - int(segments[row].sum())
        middles = [_middle(text[1 : begin - 1]), _middle(text[begin : length - 1])]
        if all(middle.size == WINDOW for middle in middles):
            pairs.append(np.stack(middles))
    return pairs


def _middle(tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    first = max(0, tokens.size - WINDOW) // 2
    return tokens[first : first + WINDOW]


def find_documents(windows: NDArray[np.int32], runs: Iterator[_Run]) -> NDArray[np.int64]:
    """Look for windows, int32[windows, WINDOW], in a corpus.

    Returns:
      int64[windows], the number of the only document that holds it; negative if none does, or
      several do.
    """
    if not windows.size:
        return np.zeros(0, np.int64)
    sums, which = np.unique(_hashes(windows.reshape(-1))[::WINDOW], return_inverse=True)
    documents = np.full(sums.size, _NOWHERE, np.int64)
    may_occur = np.zeros(1 << _FILTER_BITS, np.bool_)
    may_occur[sums >> np.uint64(64 - _FILTER_BITS)] = True
    last_ids, last_documents = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for run_ids, run_documents in runs:
        ids = np.concatenate([last_ids, run_ids])
        numbers = np.concatenate([last_documents, run_documents])
        last_ids, last_documents = ids[-WINDOW + 1 :], numbers[-WINDOW + 1 :]
        hashes = _hashes(ids)
        hits = np.flatnonzero(may_occur[hashes >> np.uint64(64 - _FILTER_BITS)])
        hits = hits[numbers[hits] == numbers[hits + WINDOW - 1]]
        places = np.minimum(np.searchsorted(sums, hashes[hits]), sums.size - 1)
        for hit, place in zip(hits.tolist(), places.tolist(), strict=True):
            if sums[place] == hashes[hit] and documents[place] != numbers[hit]:
                is_first = documents[place] == _NOWHERE
                documents[place] = numbers[hit] if is_first else _SEVERAL
    return documents[which]


def _hashes(ids: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return uint64[ids - WINDOW + 1], a hash of the window that begins at each token."""
    numbers = ids.astype(np.uint64) + np.uint64(1)
    count = max(0, ids.size - WINDOW + 1)
    sums = np.zeros(count, np.uint64)
    for i, power in enumerate(_POWERS):
        sums += numbers[i : i + count] * power
    return sums ^ sums << np.uint64(32)  # the filter takes the highest bits


def _runs_of_store(store: TokenStore) -> Iterator[_Run]:
    ends = np.concatenate([[0], np.cumsum(store.lengths, dtype=np.int64)])[store.documents[1:]]
    for start in range(0, store.ids.size, _RUN_TOKENS):
        ids = store.ids[start : start + _RUN_TOKENS]
        yield ids, np.searchsorted(ends, np.arange(start, start + ids.size), side="right")


def _runs_of_text(paths: Sequence[str], text: TextConfig, tokenizer: Tokenizer) -> Iterator[_Run]:
    num_documents = 0
    for block in find_plain_format(paths, text).read(as_spans(paths), text):
        tokens = tokenizer.tokenize_documents(block.documents, SENTENCE, text.language)
        sentences = np.arange(tokens.sentence_lengths.size)
        of_sentence = num_documents + np.searchsorted(tokens.breaks, sentences, side="right")
        yield tokens.ids, np.repeat(of_sentence, tokens.sentence_lengths)
        num_documents += tokens.breaks.size
