"""GPT samples and blends, from token stores.

    token stores --store_documents, shuffled and joined--> samples --weights--> blend --> batches

store_documents.py   the documents of a store, divided into splits
indices.py           which tokens are which sample, in arrays that cache.py keeps on disk
dataset.py           the samples of a store, gathered by sample_kernels.py
blending.py          samples of several stores by weight; building.py: those of all splits
batches.py           samples as tf.data batches
export.py            samples as files, for `bert-data build-samples`; blend_summary.py

Indices and blends equal Megatron-LM's, array for array.
"""

from bert_data.gpt.building import (
    BlendedDataset,
    build_datasets,
    exhaustive_blend,
    weighted_blend,
)
from bert_data.gpt.dataset import GptDataset
from bert_data.gpt.sample_kernels import SampleBatch, causal_mask
from bert_data.gpt.store_documents import GptConfig

__all__ = [
    "BlendedDataset",
    "GptConfig",
    "GptDataset",
    "SampleBatch",
    "build_datasets",
    "causal_mask",
    "exhaustive_blend",
    "weighted_blend",
]
