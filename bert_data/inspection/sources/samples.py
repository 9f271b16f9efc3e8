"""GPT samples as items: of shards, or drawn from token stores when they are read."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.example_sources import read_shard_features
from bert_data.inspection.sources.items import (
    Description,
    Item,
    Line,
    Source,
    View,
    check_one_vocabulary,
    show_ids,
)
from bert_data.inspection.sources.shard_items import Decoded, ShardSource, within
from bert_data.inspection.terminal import StyledText
from bert_data.reader.files.shards import Shard
from bert_data.records.fields import FLOAT32, GPT_SAMPLES
from bert_data.text.parquet import open_parquet
from bert_data.tokens.store_files import read_notes

if TYPE_CHECKING:
    from bert_data.gpt.dataset import SampleSet

KIND_OF_SAMPLES = "GPT samples"
NAMES = tuple(field.name for field in GPT_SAMPLES.fields)
_ROWS_AT_A_TIME = 64


class _Samples(Source):
    def ids_of(self, item: Item) -> dict[str, NDArray[np.int64]]:
        """Return the tokens."""
        return {"tokens": item.fields["tokens"]}

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return tokens, the last label, and where the loss and the documents are."""
        content = item.fields
        tokens, mask = content["tokens"].tolist(), content["loss_mask"]
        marked = view.marked.get("tokens", set())
        lines: list[Line] = [("tokens", show_ids(tokens, view, marked=marked))]
        if tokens and mask.size and mask[-1]:
            label = show_ids(content["labels"].tolist()[-1:], view)
            lines.append(("label", [*label, StyledText("  of the last token", "faint")]))
        if "dataset" in content:
            lines.append(("from", content["dataset"]))
        lines.append(("loss", f"on {np.count_nonzero(mask):,} of {mask.size:,} tokens"))
        restarts = np.flatnonzero(content["position_ids"] == 0)[1:].tolist()
        if restarts:
            lines.append(("positions", f"0 again at token {_list(restarts)}"))
        starts = np.unique(content["segment_starts"])[1:].tolist()
        if starts:
            lines.append(("attention", f"not before token {_list(starts)}, from there on"))
        return lines

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return the fields, and the tokens as text where there is a vocabulary."""
        row = super().row(item, words)
        if words.tokens:
            row["words"] = [words.join(item.fields["tokens"].tolist()[begin:end])
                            for begin, end in words.divide(row["tokens"])]  # fmt: skip
        return row


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


class SampleShards(_Samples, ShardSource):
    """Samples that `build_samples --output_file` wrote."""

    def __init__(self, shards: Sequence[Shard], settings: dict[str, Any]) -> None:
        super().__init__(
            shards, Description(kind=KIND_OF_SAMPLES, unit="sample", settings=settings)
        )

    def read_shard(self, shard: Shard, places: Sequence[int] | None) -> Iterator[Decoded]:
        """Yield samples of a shard, see `ShardSource`."""
        read = _read_rows if shard.is_parquet else read_shard_features
        for place, features in read(shard, places):
            missing = [name for name in NAMES if name not in features]
            if missing:
                raise CorruptDataError(shard.path, 0, f"a sample has no {missing[0]!r}", place)
            yield place, {name: features[name] for name in NAMES}, 0


def _read_rows(shard: Shard, places: Sequence[int] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    first = 0
    with open_parquet(shard.path) as file:
        for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=list(NAMES)):
            span = range(first, first + batch.num_rows)
            for place in span if places is None else within(places, span):
                yield place, _row_of(batch, place - first)
            first = span.stop
            if places is not None and first > places[-1]:
                return


def _row_of(batch: Any, row: int) -> dict[str, Any]:
    floats = {field.name for field in GPT_SAMPLES.fields if field.dtype == FLOAT32}
    return {
        name: np.asarray(batch.column(name)[row].values.to_numpy(zero_copy_only=False)).astype(
            np.float32 if name in floats else np.int64
        )
        for name in batch.schema.names
    }


class SampleItems(_Samples):
    """Samples of token stores or of a blend of them, made when they are read."""

    def __init__(self, dataset: "SampleSet", names: Sequence[str]) -> None:
        self._dataset = dataset
        notes = [read_notes(store.prefix) for store in dataset.stores]
        digests = [None if each is None else each.vocabulary.sha256 for each in notes]
        settings = dataclasses.asdict(dataset.config)
        del settings["cache_dir"]
        description = Description(
            kind=KIND_OF_SAMPLES,
            unit="sample",
            settings={"stores": ", ".join(names), "split_name": dataset.split} | settings,
            vocab_sha256=check_one_vocabulary(zip(names, digests, strict=True)),
            vocab_size=None if notes[0] is None else notes[0].vocabulary.size,
        )
        super().__init__(description, names, dataset.paths)

    def count(self) -> int:
        """Return the number of samples."""
        return len(self._dataset)

    def stream(self) -> Iterator[Item]:
        """Yield all samples in order."""
        return self.read(range(len(self._dataset)))

    def read(self, numbers: Sequence[int]) -> Iterator[Item]:
        """Yield samples by number, see `Source.read`."""
        present = (number for number in numbers if number < len(self._dataset))
        while part := list(itertools.islice(present, _ROWS_AT_A_TIME)):
            batch = self._dataset.batch(part)._asdict()
            for row, number in enumerate(part):
                fields = {
                    name: values[row].copy() if name == "loss_mask" else values[row].astype("i8")
                    for name, values in batch.items()
                }
                if len(self.names) > 1:
                    index = self._dataset.dataset_index[number]  # type: ignore[attr-defined]
                    fields["dataset"] = self.names[int(index)]
                yield Item(number=number, path=", ".join(self.names), place=number, fields=fields)
