r"""Build GPT samples, or a blend of them, from document-level token stores.

    bert-data build-samples --input=web,books --weights=0.7,0.3 \
        --num_samples=100000,1000 --split=99,1 --seq_length=1024 \
        --cache_dir=index

Documents are shuffled, joined and cut into samples of seq_length tokens; a blend draws samples from
the stores by weight. The order and the arrays are Megatron-LM's. --cache_dir keeps the indices, so
that training (bert_data.gpt.batches) loads them at once; --output_file writes the samples
themselves, for other programs. The summary says how often each store is read.

To try a blend before anything is tokenized, give the sizes alone:

    bert-data build-samples --input=A,B,C --samples_per_epoch=100,50,400 \
        --weights=0.3,0.2,0.5 --num_samples=1000
"""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from absl import flags, logging

from bert_data import storage
from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, refuse_beside, settings
from bert_data.cli.shared_flags import ENGINE, engine_of_flags
from bert_data.gpt.gpt_config import BlendConfig, GptConfig, SampleExportConfig
from bert_data.progress import how_many
from bert_data.work import MAX_WORKERS

if TYPE_CHECKING:
    from bert_data.gpt import BlendedDataset, GptDataset
    from bert_data.gpt.blend_summary import DatasetPart

FLAGS = flags.FLAGS

_COMMON = (
    "input weights num_samples seq_length seed split cache_dir output_file overwrite"  # for --help
)
_EOD = {
    "more_help": " By default from PREFIX.store.json, which tokenize --append_eod writes beside"
    " each store."
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlendFlags(BlendConfig):
    """The flags of this command alone.

    Attributes:
      input: data sets, separated by commas. Each is a token store, named without .bin and .idx, or
        PREFIX@N or a pattern for the stores of all its partitions. Each sequence must be a
        document.
      epochs: passes over each store if `num_samples` is not set; 1 by default.
      samples_per_epoch: try a blend by sizes alone: the number of samples that one pass over each
        store gives. The command then reads no store and writes nothing; it needs `weights` and
        `num_samples`.
      max_repeats: warn about stores that are read more often. Up to four passes are nearly as good
        as new text (Muennighoff et al. 2023, Scaling Data-Constrained Language Models).
    """

    input: str
    epochs: int | None = None
    samples_per_epoch: Sequence[float] | None = None
    max_repeats: float = 4.0


SECTIONS = (
    Section(
        "",
        (
            *settings(BlendFlags),
            *settings(GptConfig, changes={"seq_length": {"default": 1024}, "eod_id": _EOD}),
            *settings(
                SampleExportConfig,
                without="num_processes",
                changes={"output_file": {"default": None}},
            ),
        ),
    ),
    ENGINE,
)


def main(_: Sequence[str]) -> None:
    """Build the data sets and report how often each store is read."""
    given = from_flags(BlendFlags)
    names = storage.split_names(given.input)
    if not all(names):
        raise ValueError(f"--input is {given.input!r}; it has an empty name")
    if not given.max_repeats > 0:  # nor NaN
        raise ValueError(f"--max_repeats is {given.max_repeats}; more than 0 is allowed")
    if given.samples_per_epoch is not None:
        _try_sizes(given, names)
        return
    if not FLAGS.cache_dir and not FLAGS.output_file:
        raise ValueError("--cache_dir or --output_file is missing: nothing would be kept")
    _build(given, names)


def _try_sizes(given: BlendFlags, names: Sequence[str]) -> None:
    from bert_data.gpt.blend_summary import plan_blend

    if given.weights is None or given.num_samples is None or len(given.num_samples) != 1:
        raise ValueError("--samples_per_epoch needs --weights, and one number of --num_samples")
    assert given.samples_per_epoch is not None
    refuse_beside("samples_per_epoch", "input weights num_samples seq_length max_repeats")
    _tell(plan_blend(names, given.samples_per_epoch, given.weights, given.num_samples[0]), "train")


def _tell(parts: "Sequence[DatasetPart]", split: str) -> None:
    from bert_data.gpt.blend_summary import describe_parts, describe_repeats

    logging.info("%s", describe_parts(parts, split, FLAGS.seq_length))
    for sentence in describe_repeats(parts, FLAGS.max_repeats):
        logging.warning("%s", sentence)


def _eod_id(names: Sequence[str]) -> int | None:
    """Return --eod_id or, if an option needs it, the id in the stores' notes."""
    from bert_data.gpt.building import store_prefixes
    from bert_data.gpt.gpt_config import EOD_OPTIONS

    eod_id: int | None = FLAGS.eod_id
    if not any(FLAGS[name].value for name in EOD_OPTIONS):
        return eod_id
    from bert_data.tokens.store_files import noted_eod, notes_path

    prefixes = [prefix for name in names for prefix in store_prefixes(name)]
    noted = noted_eod(prefixes)
    if eod_id is not None and noted not in (None, eod_id):
        raise ValueError(
            f"--eod_id is {eod_id}, but {noted} ends documents, as {notes_path(prefixes[0])} says"
        )
    return noted if eod_id is None else eod_id


def _build(given: BlendFlags, names: Sequence[str]) -> None:
    from bert_data.gpt import build_datasets
    from bert_data.gpt.blend_summary import parts_of_blend
    from bert_data.gpt.building import split_sizes

    config = from_flags(GptConfig, eod_id=_eod_id(names))
    num_splits = sum(size != 0 for size in split_sizes(config, given.num_samples, given.epochs))
    if num_splits > 1 and "{split}" not in (FLAGS.output_file or "{split}"):
        raise ValueError(
            f"--output_file is {FLAGS.output_file!r}; with {num_splits} splits it must hold "
            "{split}"
        )
    writing = None
    if FLAGS.output_file:
        writing = from_flags(
            SampleExportConfig, num_processes=MAX_WORKERS, engine=engine_of_flags()
        )
    start = time.monotonic()
    built = build_datasets(
        names, config, weights=given.weights, num_samples=given.num_samples, num_epochs=given.epochs
    )
    datasets = [dataset for dataset in built if dataset is not None]
    seconds = time.monotonic() - start
    for dataset in datasets:
        _tell(parts_of_blend(dataset), dataset.split)
    total = sum(map(len, datasets))
    where = f", kept in {FLAGS.cache_dir}" if FLAGS.cache_dir else ""
    logging.info("indices of %s samples in %.2f s%s", f"{total:,}", seconds, where)
    if writing is not None:
        _export(datasets, writing, {"input": names, "weights": given.weights})


def _export(
    datasets: "Sequence[GptDataset | BlendedDataset]",
    config: SampleExportConfig,
    made_from: Mapping[str, object],
) -> None:
    from bert_data.gpt.export import export_splits

    start = time.monotonic()
    splits = export_splits(datasets, config, made_from=made_from)
    for dataset, files in zip(datasets, splits, strict=True):
        logging.info(
            "wrote %s  %s in %s, %s bytes",
            config.output_file.replace("{split}", dataset.split), how_many(len(dataset), "sample"),
            how_many(len(files), "file"), f"{sum(file.num_bytes for file in files):,}",
        )  # fmt: skip
    logging.info("wrote all files in %.2f s", time.monotonic() - start)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
