"""Sets of records: shards of all formats, their indexes and manifests."""

import functools
from pathlib import Path
from typing import Any

from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.damage.lab import Kind
from tests.damage.materials import write_text, write_vocabulary

_WAYS: tuple[dict[str, Any], ...] = (
    {"batching": "stream"},
    {"batching": "plain"},
    {"batching": "pools", "shuffle": True, "pool_batches": 2},
)
_NO_CHECKSUM = "its own numbers have no checksum; a reader takes sizes and settings from them"


def make_set(folder: Path, variant: int, *, keeps: str = "*", **settings: Any) -> None:
    """Writes a set of two shards, a and b, with its vocabulary beside it."""
    ending = ".parquet" if settings.get("output_format") == "parquet" else ""
    create_dataset(
        DatasetConfig(
            input_file=write_text(folder, variant),
            vocab_file=write_vocabulary(folder / "vocab.txt"),
            output_file=f"{folder}/a{ending},{folder}/b{ending}",
            instances=InstanceConfig(
                max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2, random_seed=variant
            ),
            num_workers=1,
            **settings,
        )
    )
    for path in folder.iterdir():
        if not path.match(keeps):
            path.unlink()


def _read(folder: Path, way: int = 0, *, ending: str = "", **settings: Any) -> Any:
    config = ReaderConfig(
        input_patterns=[f"{folder}/a{ending}", f"{folder}/b{ending}"],
        batch_size=8,
        **{**_WAYS[way], **settings},
    )
    return list(iterate_arrays(config))


KINDS = (
    Kind(name="records", make=make_set, damaged=["a"], read=_read, ways=3),
    Kind(
        name="records without index and manifest",
        make=functools.partial(make_set, keeps="[ab]"),
        damaged=["a"],
        read=_read,
        ways=3,
        unprotected={"a": "TFRecord does not say how many records there are"},
    ),
    Kind(
        name="records, gzip",
        make=functools.partial(make_set, compression="gzip"),
        damaged=["a"],
        read=_read,
    ),
    Kind(
        name="records, Parquet",
        make=functools.partial(make_set, output_format="parquet"),
        damaged=["a.parquet"],
        read=functools.partial(_read, ending=".parquet"),
    ),
    Kind(name="index", make=make_set, damaged=["index.*"], read=_read, ways=3),
    Kind(
        name="index without manifest",
        make=functools.partial(make_set, keeps="*[ab]*"),
        damaged=["index.a.npy"],
        read=_read,
        ways=3,
    ),
    Kind(
        name="manifest",
        make=make_set,
        damaged=["manifest.*"],
        read=_read,
        ways=3,
        unprotected={"manifest.*": _NO_CHECKSUM},
    ),
)
