"""GPT samples and blends, from token stores.

    token stores --store_documents, shuffled and joined--> samples --weights--> blend --> batches

The indices equal Megatron-LM's, array for array. `bert_data.reader.samples` makes tf.data batches
of them; `bert-data build-samples` is the command.
"""

from bert_data.causal.building import (
    BlendedDataset,
    build_datasets,
    exhaustive_blend,
    weighted_blend,
)
from bert_data.causal.gpt import GptDataset
from bert_data.causal.sample_kernels import SampleBatch, causal_mask
from bert_data.causal.store_documents import GptConfig

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
