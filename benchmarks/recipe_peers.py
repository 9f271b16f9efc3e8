"""Masked batches as other programs make them, of the token store or the sequences of a recipe.

Each is torch's DataLoader in this process over a peer's dataset, whose batches have as many rows
as those of the recipe: `of_collator` is that of run_mlm.py, Hugging Face's collator over an Arrow
file that is mapped into memory; `of_megatron` Megatron-LM's BERT dataset over the same store.
"""

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Batches = Iterator[int]
"""The number of masked tokens of each batch."""


def of_collator(
    folder: str, vocab_file: str, rows: Callable[[], Iterator[list[int]]], batch_size: int
) -> Batches:
    """Batches of DataCollatorForLanguageModeling.

    Args:
      folder: for the Arrow file, which is made once.
      rows: ids of sequences, with special tokens.
    """
    import datasets
    import torch
    from transformers import BertTokenizerFast, DataCollatorForLanguageModeling

    if not Path(folder).exists():
        datasets.disable_progress_bars()
        made = datasets.Dataset.from_generator(
            lambda: ({"input_ids": ids} for ids in rows()), cache_dir=f"{folder}-made"
        )
        made.save_to_disk(folder)
    collate = DataCollatorForLanguageModeling(BertTokenizerFast(vocab_file), mlm_probability=0.15)
    loader = torch.utils.data.DataLoader(
        datasets.load_from_disk(folder), batch_size=batch_size, shuffle=True, collate_fn=collate
    )
    for batch in loader:
        yield int((batch["labels"] != -100).sum())


def _import_megatron(checkout: str) -> Any:
    """Return the module of its BERT dataset, without what trains, which needs a GPU's packages."""
    import numpy as np

    sys.path.insert(0, checkout)
    for name in ("megatron.core", "megatron.core.utils", "megatron.core.safe_globals"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["megatron.core"].__path__ = [f"{checkout}/megatron/core"]
    from megatron.core import _rank_utils

    sys.modules["megatron.core.utils"].log_single_rank = _rank_utils.log_single_rank  # type: ignore[attr-defined]
    sys.modules["megatron.core.safe_globals"].safe_numpy_load = np.load  # type: ignore[attr-defined]
    from megatron.core.datasets import bert_dataset

    return bert_dataset


class _Tokenizer:
    """What the dataset asks of Megatron-LM's tokenizer."""

    unique_identifiers = {"class": "BertWordPiece"}  # noqa: RUF012

    def __init__(self, vocab_file: str) -> None:
        tokens = Path(vocab_file).read_text(encoding="utf-8").splitlines()
        self.inv_vocab = dict(enumerate(tokens))
        self.cls, self.sep, self.mask, self.pad = map(
            tokens.index, ("[CLS]", "[SEP]", "[MASK]", "[PAD]")
        )


def of_megatron(
    checkout: str, store: str, vocab_file: str, length: int, batch_size: int, *, words: bool
) -> Batches:
    """Batches of BERTMaskedWordPieceDataset, one segment a sequence.

    Args:
      checkout: of Megatron-LM, with megatron/core/datasets/helpers.cpp compiled by its Makefile.
    """
    import numpy as np
    import torch

    bert = _import_megatron(checkout)
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        )
    config = bert.BERTMaskedWordPieceDatasetConfig(
        random_seed=1, sequence_length=length, blend=([store], None), split="1,0,0",
        tokenizer=_Tokenizer(vocab_file), path_to_cache=f"{store}-cache", masking_probability=0.15,
        short_sequence_probability=0.0, masking_max_ngram=1, masking_do_full_word=words,
        masking_do_permutation=False, masking_use_longer_ngrams=False,
        masking_use_geometric_distribution=False, classification_head=False,
    )  # fmt: skip
    indexed = bert.IndexedDataset(store)
    documents = np.arange(indexed.document_indices.size - 1, dtype=np.int32)
    num_samples = int(indexed.sequence_lengths.sum()) // length
    dataset = bert.BERTMaskedWordPieceDataset(
        indexed, store, documents, num_samples, bert.Split.train, config
    )
    for batch in torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True):
        yield int(batch["loss_mask"].sum())
