"""Remove long runs of words that occur again within a shard."""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from absl import logging

from bert_data.curation.document import Document
from bert_data.curation.duplicates.ragged_files import RaggedWriter, open_ragged
from bert_data.curation.duplicates.suffix_arrays import cut_words, mark_copied_words, runs_of_marked
from bert_data.curation.parameters import Share, Within
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions, register
from bert_data.curation.verdict import Verdict, measure
from bert_data.work.rounds import Rounds


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class SubstringDuplicates(CorpusStep):
    """Removes runs of 50 words or more that occurred before in the same shard; the first one stays.

    This is ExactSubstr of Lee et al. 2022, "Deduplicating training data makes language models
    better" (arXiv:2107.06499), with a suffix array per shard. Tokens are words as written,
    punctuation included; a Chinese or Japanese character is a word. Copies in different shards are
    not found, so the result depends on the size of shards and the order of their documents, but not
    on the number of workers. Memory is about 10 times the text of a shard.

    The measured value is the share of the document's words that is left.

    Attributes:
      length: words of the shortest run to remove, >= 1.
      min_kept: least share of a document's words that must be left, in [0, 1].
    """

    name = "substring_duplicates"
    length: Annotated[int, Within(1)] = 50
    min_kept: Share = 0.0

    def observe(self, folder: Path, documents: Iterable[Document], path: Path) -> None:
        """Find the copies, and write which words of each document they cover."""
        hashes = [document.words.hashes for document in documents]
        bounds = np.concatenate([[0], np.cumsum([len(each) for each in hashes])]).astype(np.int64)
        words = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
        is_copied = mark_copied_words(words, bounds, self.length)
        with RaggedWriter(path, np.int64) as writer:
            for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                writer.append(runs_of_marked(is_copied[begin:end]).reshape(-1))

    def decide(self, rounds: Rounds) -> Decisions:
        """Report how many runs are removed, as observed in each shard."""
        observed = (open_ragged(Path(part.path), np.int64) for part in rounds.parts)
        number = sum(int(runs.offsets[-1]) // 2 for runs in observed)
        logging.info("%s: %d runs of words are copies", self.name, number)
        return Decisions()

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Remove the copies."""
        cuts = open_ragged(decided.observed, np.int64)
        for row, document in enumerate(documents):
            runs = cuts.row(row).reshape(-1, 2)
            num_words = len(document.words)
            num_kept = num_words - int((runs[:, 1] - runs[:, 0]).sum())
            kept = measure("min_kept", num_kept / max(num_words, 1), self.min_kept)
            if kept.failed or len(runs) == 0:
                yield Verdict(document, (kept,))
            else:
                cut = document.with_text(cut_words(document.words, runs.tolist()))
                yield Verdict(cut, (kept,), {"runs of words": len(runs)})
