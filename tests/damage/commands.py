"""The commands that write, in each of their formats: what the kill laboratory runs."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from tests.damage.materials import json_lines, write_text, write_vocabulary
from tests.gpt.stores import write_store


def _nothing() -> None:
    pass


def _spill() -> None:
    """Leaves so little memory for rows that they are sorted on disk."""
    import bert_data.records.sets.config as stage

    share = stage.share_memory

    def share_little(*arguments: int, **options: int) -> object:
        return dataclasses.replace(share(*arguments, **options), max_rows_bytes=2000)

    stage.share_memory = share_little  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """A command to kill.

    Attributes:
      name: for the command line.
      flags: separated by spaces; {room} is the folder of the inputs. It runs in a folder beside.
      older: flags that make another output of the same name.
      vouchers: files that appear last, and mean that all are there.
      patch: called before the flags are read, in the process that runs it.
    """

    name: str
    flags: str
    older: str
    vouchers: tuple[str, ...] = ()
    patch: Callable[[], None] = _nothing

    @property
    def program(self) -> str:
        """The command without what it writes."""
        return self.name.replace(",", " ").split()[0]

    @property
    def module(self) -> str:
        """The module that has its main function."""
        return f"bert_data.cli.{self.program}"


def prepare(room: Path) -> None:
    """Writes the inputs of all commands."""
    write_text(room / "run", 0)
    write_vocabulary(room / "vocab.txt")
    (room / "web.jsonl").write_bytes(json_lines(0))
    (room / "ids.txt").write_text("3\ntext-0.txt:1\nnone\n")
    for name in ("a", "b"):
        write_store(room / name, [range(number, number + 9) for number in range(40)])


_WORDS = "--input_file={room}/text-0.txt --vocab_file={room}/vocab.txt"
_CREATE = (
    f"{_WORDS} --output_file=out/t@2 --max_seq_length=32 --max_predictions_per_seq=5"
    " --dupe_factor=2 --num_examples=0"
)
_CURATE = "--input_file={room}/web.jsonl --shard_mb=0.001 --steps=exact_duplicates"
_SAMPLES = "--input={room}/a,{room}/b --seq_length=8"


def _create(
    name: str,
    more: str,
    patch: Callable[[], None] = _nothing,
    older: str = "--random_seed=7 --output_file=out/t@3",
) -> Command:
    return Command(
        name=name,
        flags=f"{_CREATE} {more}",
        older=older,
        vouchers=("out/manifest.t.json",),
        patch=patch,
    )


def _curate(name: str, output: str, more: str = "", older: str = "") -> Command:
    return Command(
        name=name,
        flags=f"{_CURATE} --output_file=out/{output} {more}",
        older=f"--steps=length:min_words=20{older}",
        vouchers=(f"out/curation.{output.partition('@')[0]}.json",),
    )


COMMANDS = (
    _create("create", ""),
    _create("create, spilling", "--work_dir=work", _spill),
    _create(
        "create, Parquet",
        "--output_format=parquet",
        older="--output_format=tfrecord --output_file=out/t@3",
    ),
    _create("create, partitions", "--num_partitions=2 --output_format=parquet"),
    _create(
        "create, without documents",
        "--input_file={room}/web.jsonl --without_documents={room}/ids.txt",
    ),
    Command(
        name="tokenize",
        flags=f"{_WORDS} --output_prefix=out/s",
        older="--level=sentence",
        vouchers=("out/s.store.json",),
    ),
    Command(
        name="tokenize, partitions",
        flags=f"{_WORDS} --output_prefix=out/s --num_partitions=3"
        " --without_documents={room}/ids.txt",
        older="--level=sentence",
    ),
    Command(
        name="tokenize --merge",
        flags="--merge={room}/a,{room}/b --output_prefix=out/s",
        older="--merge={room}/b,{room}/a",
        vouchers=("out/s.idx",),
    ),
    Command(
        name="train_vocab",
        flags="--input_file={room}/text-0.txt --output_file=out/vocab.txt --vocab_size=60",
        older="--vocab_size=50",
        vouchers=("out/vocab.txt",),
    ),
    Command(
        name="train_classifier",
        flags="--positive_file={room}/text-0.txt --negative_file={room}/web.jsonl"
        " --output_file=out/m.bin --dimension=4 --buckets=20",
        older="--seed=7",
        vouchers=("out/m.bin",),
    ),
    _curate(
        "curate",
        "c.jsonl@2",
        "--rejected_file=out/no.jsonl.gz@2",
        older=" --output_file=out/c.jsonl@3 --rejected_file=out/no.jsonl.gz@3",
    ),
    Command(
        name="curate, stores",
        flags=f"{_CURATE} --vocab_file={{room}}/vocab.txt --output_format=store"
        " --output_file=out/s@2",
        older="--steps=length:min_words=20 --output_file=out/s@3",
        vouchers=("out/curation.s.json",),
    ),
    _curate("curate, Parquet", "c.parquet", "--without_documents={room}/ids.txt"),
    Command(
        name="build_samples",
        flags=f"{_SAMPLES} --output_file=out/t@2 --epochs=2 --cache_dir=cache",
        older="--seed=7",
        vouchers=("out/manifest.t.json",),
    ),
    Command(
        name="build_samples, Parquet, splits",
        flags=f"{_SAMPLES} --output_format=parquet --split=8,1,1"
        " --output_file=out/{split}.parquet",
        older="--seed=7",
    ),
)
