"""Trace documents to the GPT samples that hold them, and samples to their documents.

The samples are a function of stores and settings, which is inverted: of those that training draws,
and of those that `build-samples` wrote, whose manifest says what they were made with.
"""

import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_data.causal.store_documents import GptConfig
from bert_data.datasets.manifest import SAMPLES_FORMAT, ListedFiles, listed_shards, manifests_beside
from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import SampleConfig, TraceConfig
from bert_data.inspection.sources.opening import expand_names, make_samples
from bert_data.inspection.tracing.recipe_sets import SetShards
from bert_data.inspection.tracing.traced_documents import (
    HoldingRecord,
    OpenedStore,
    TracedDocument,
    TracedTokens,
    find_documents,
)
from bert_data.storage import read_json, read_object
from bert_data.tokens.store_files import index_sums

if TYPE_CHECKING:
    from bert_data.causal.gpt import SampleSet
    from bert_data.causal.sample_kernels import SamplePart


@dataclasses.dataclass(frozen=True)
class TracedSamples:
    """Samples, and the shards that hold them; sample i is in shard i modulo their number."""

    dataset: "SampleSet"
    shards: SetShards

    @classmethod
    def of_stores(cls, names: str, config: SampleConfig) -> "TracedSamples":
        """Make the samples of stores."""
        dataset = make_samples(names.split(","), config)
        return cls(dataset, SetShards(names, [config.split_name], [0, len(dataset)]))

    @classmethod
    def of_shards(cls, names: str) -> "TracedSamples | None":
        """Make again what `build-samples` wrote; None: the files are no samples."""
        paths = expand_names(names)
        for manifest in manifests_beside(paths[:1], (SAMPLES_FORMAT,)):
            if paths[0] in listed_shards(manifest):
                files = read_json(manifest, ListedFiles).files
                splits = itertools.accumulate((file.num_records for file in files), initial=0)
                shards = SetShards(names, [file.name for file in files], list(splits))
                return cls(_make_again(manifest, read_object(manifest)), shards)
        return None

    def place_of(self, sample: int) -> tuple[str, int, int]:
        """Return the shard of a sample, its number there, and in the set."""
        place, shard = divmod(sample, len(self.shards.shards))
        return self.shards.shards[shard], place, self.shards.splits[shard] + place

    def trace(self, config: TraceConfig) -> list[TracedDocument]:
        """Find documents, and the samples that hold them."""
        opened = [OpenedStore.open(store.prefix) for store in self.dataset.stores]
        found = find_documents(list({each.prefix: each for each in opened}.values()), config)
        records: list[list[HoldingRecord]] = [[] for _ in found]
        for number, store in enumerate(opened):
            own = {
                int(store.store.documents[document.number]): n
                for n, document in enumerate(found)
                if document.store.prefix == store.prefix and document.tokens
            }
            holders = self.dataset.holders(number, np.array([*own], np.int64)) if own else ()
            for sample in map(int, holders):
                for part in self.dataset.parts(sample):
                    n = own.get(part.document)
                    if n is not None:
                        records[n].append(self._record(sample, part, found[n].tokens.start))
        return [
            dataclasses.replace(each.traced(), records=own)
            for each, own in zip(found, records, strict=True)
        ]

    def _record(self, sample: int, part: "SamplePart", begin: int) -> HoldingRecord:
        columns = range(part.column, part.column + len(part.tokens))
        tokens = range(begin + part.tokens.start, begin + part.tokens.stop)
        return HoldingRecord(*self.place_of(sample), "-", columns, tokens)

    def trace_record(self, config: TraceConfig) -> list[TracedTokens]:
        """Find the documents of a sample."""
        assert config.record is not None
        record = self.shards.number_of(config.record)
        shard, place = self.shards.place(record)
        opened: dict[int, OpenedStore] = {}
        found = []
        for part in self.dataset.parts(place * len(self.shards.shards) + shard):
            prefix = self.dataset.stores[part.store].prefix
            if part.store not in opened:
                opened[part.store] = OpenedStore.open(prefix)
            store = opened[part.store]
            document = int(np.searchsorted(store.store.documents, part.document, side="right")) - 1
            origin = store.origins_of([document])[document]
            found.append(TracedTokens(record, "-", prefix, document, len(part.tokens), origin))
        return found


def _make_again(manifest: str, told: Mapping[str, Any]) -> "SampleSet":
    request = told.get("request")
    if not isinstance(request, dict):
        raise ValueError(
            f"{manifest} does not say what its samples were made of; trace the samples of the"
            " stores, with `seq_length` and the other settings of build-samples"
        )
    names = [field.name for field in dataclasses.fields(GptConfig) if field.name in told]
    config = SampleConfig(
        **{name: told[name] for name in names},
        weights=told.get("weights"),
        num_samples=request["num_samples"],
        split_name=told["split_name"],
    )
    prefixes: Sequence[str] = [os.fspath(prefix) for prefix in request["stores"]]
    for prefix, crc32 in index_sums(prefixes).items():
        if crc32 != request["stores"][prefix]:
            raise CorruptDataError(f"{prefix}.idx", 0, f"of another store than that of {manifest}")
    return make_samples(request["input"], config, request["num_epochs"])
