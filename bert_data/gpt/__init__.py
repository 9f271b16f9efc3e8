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

from typing import TYPE_CHECKING

from bert_data.packages import import_on_use

if TYPE_CHECKING:
    from bert_data.gpt.building import BlendedDataset as BlendedDataset
    from bert_data.gpt.building import build_datasets as build_datasets
    from bert_data.gpt.building import exhaustive_blend as exhaustive_blend
    from bert_data.gpt.building import weighted_blend as weighted_blend
    from bert_data.gpt.dataset import GptDataset as GptDataset
    from bert_data.gpt.gpt_config import GptConfig as GptConfig
    from bert_data.gpt.sample_kernels import SampleBatch as SampleBatch
    from bert_data.gpt.sample_kernels import causal_mask as causal_mask

__getattr__, __all__ = import_on_use(__name__)
