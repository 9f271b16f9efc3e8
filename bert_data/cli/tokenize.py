r"""Make token stores (.bin and .idx, as in Megatron-LM and NeMo Curator) from text.

A store of documents, for GPT: tokens.bin, tokens.idx, and tokens.store.json, which describes them:

    bert-data tokenize --input_file='web/*.jsonl.gz' \
        --tokenizer_file=tokenizer.json --append_eod --output_prefix=tokens

A store of sentences, which create_pretraining_data.py reads in place of the text:

    bert-data tokenize --input_file=corpus.txt --vocab_file=vocab.txt \
        --level=sentence --output_prefix=sentences

Eight stores (repeat the command if it was stopped), merged into one and verified:

    bert-data tokenize ... --output_prefix=parts/web --num_partitions=8
    bert-data tokenize --merge=parts/web@8 --output_prefix=web
    bert-data tokenize --verify=web

The same on all nodes of a Ray cluster, which must share the storage:

    bert-data tokenize ... --num_partitions=1000 --engine=ray \
        --ray_address=HOST:6379
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if __name__ == "__main__":  # before NumPy is loaded; nothing here needs its matrix products
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, refuse_beside, settings
from bert_data.cli.shared_flags import ENGINE, TOKENIZER, engine_of_flags, text_section
from bert_data.progress import how_many, size
from bert_data.settings import settings_of
from bert_data.text.text_config import TextConfig
from bert_data.tokens.store_config import ProvenanceConfig, StoreConfig
from bert_data.tokens.store_work import StoreWork

if TYPE_CHECKING:
    from bert_data.tokens.store_making import MadeStore
    from bert_data.tokens.verifying import VerifiedStore

FLAGS = flags.FLAGS
_MAX_STORES_NAMED = 10

_COMMON = (  # for --help
    "input_file vocab_file tokenizer_file do_lower_case output_prefix level append_eod"
    " num_workers overwrite"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreFlags:
    """The flags of this command alone.

    Attributes:
      merge: instead of reading text: join these stores, given by prefix (PREFIX@N for N partitions,
        or a pattern), into one with `output_prefix`.
      verify: instead of reading text: read and check all of a store, or of those of PREFIX@N or
        of a pattern.
    """

    merge: list[str] | None = None
    verify: str | None = None


SECTIONS = (
    Section(
        "",
        settings(
            StoreConfig,
            without="tokenizer_file special_tokens_in_text tokenizer_backend words num_workers"
            " num_processes " + " ".join(settings_of(ProvenanceConfig)),
            changes={"input_file": {"default": None}, "output_prefix": {"default": None}},
        ),
    ),
    Section("", (*settings(StoreFlags), *settings(StoreWork))),
    text_section(),
    Section("where documents come from", settings(ProvenanceConfig)),
    ENGINE,
    TOKENIZER,
)


def main(_: Sequence[str]) -> None:
    """Make, merge or verify stores as the flags say."""
    modes = {name: FLAGS[name].value for name in ("input_file", "merge", "verify")}
    set_flags = [f"--{name}" for name, value in modes.items() if value]
    if len(set_flags) != 1:
        raise ValueError(
            "one of --input_file, --merge and --verify is needed;"
            f" {' and '.join(set_flags) + ' are' if set_flags else 'none is'} set"
        )
    if FLAGS.verify:
        refuse_beside("verify", "num_workers")
        logging.info("%s", _verify(FLAGS.verify))
    elif FLAGS.merge:
        refuse_beside("merge", "output_prefix overwrite num_workers")
        logging.info("%s", _merge(FLAGS.merge))
    else:
        logging.info("%s", _tokenize())


def _tokenize() -> str:
    from bert_data.kernels import clock
    from bert_data.tokens.store_making import make_stores

    if not FLAGS.output_prefix:
        raise ValueError("--output_prefix is missing: name the store to write")
    engine = engine_of_flags()
    start = clock()
    stores = make_stores(
        from_flags(
            StoreConfig,
            text=from_flags(TextConfig),
            engine=engine,
            **from_flags(StoreWork).divide(engine),
        )
    )
    return "\n".join(_describe_stores(stores, clock() - start))


def _merge(entries: Sequence[str]) -> str:
    if entries[0].startswith("-"):
        raise ValueError(f"--merge needs stores, such as --merge=a,b; {entries[0]!r} is a flag")
    if not all(entries):
        raise ValueError(f"--merge={','.join(entries)} has an empty name; name stores")
    if not FLAGS.output_prefix:
        raise ValueError("--output_prefix is missing: name the store that --merge makes")
    from bert_data.tokens.merging import merge_stores
    from bert_data.tokens.store_files import expand_stores
    from bert_data.tokens.verifying import verify_store

    prefixes = expand_stores(entries)
    merge_stores(prefixes, FLAGS.output_prefix, overwrite=FLAGS.overwrite)
    merged = _describe_store(FLAGS.output_prefix, verify_store(FLAGS.output_prefix))
    return f"{len(prefixes)} stores merged; {merged}"


def _verify(prefix: str) -> str:
    if prefix.startswith("-"):
        raise ValueError(f"--verify needs a store, such as --verify=a; {prefix!r} is a flag")
    from bert_data.tokens.store_files import expand_stores
    from bert_data.tokens.verifying import verify_store

    return "\n".join(_describe_store(each, verify_store(each)) for each in expand_stores([prefix]))


def _describe_stores(stores: "Sequence[MadeStore]", seconds: float) -> Iterator[str]:
    """Yield the lines about stores that were made from text in a number of seconds."""

    def total(name: str) -> int:
        return sum(store.notes.counts[name] for store in stores)

    from bert_data.tokens.special_tokens import describe_counts, sum_counts

    settings = stores[0].notes.settings
    new_stores = [store for store in stores if store.is_new]
    num_left = len(stores) - len(new_stores)
    left = f", {num_left:,} of them there before" if num_left else ""
    num_files = len({each["name"] for store in stores for each in store.notes.inputs})
    num_stores = how_many(len(stores), "token store")
    yield f"{num_stores} of {settings['level']}s, {settings['dtype']}{left}"
    yield _row("text", f"{how_many(num_files, 'file')}, {size(total('num_bytes'))}")
    yield _row("documents", f"{total('num_documents'):,} ({total('num_empty'):,} empty)")
    yield _row("sequences", f"{total('num_sentences'):,}")
    share = 100 * total("num_unknown") / max(1, total("num_tokens"))
    unknown = f"{total('num_unknown'):,} [UNK], {share:.1f}%"
    yield _row("tokens", f"{total('num_tokens'):,} ({unknown})")
    if special := sum_counts([store.notes.special_tokens for store in stores]):
        yield _row("special", f"in the text: {describe_counts(special)}")
    if total("num_skipped"):
        yield _row("skipped", f"{total('num_skipped'):,} rows without a text")
    if total("num_replaced"):
        yield _row("undecodable", f"{total('num_replaced'):,} places were replaced or ignored")
    if new_stores:
        num_bytes = sum(store.notes.counts["num_bytes"] for store in new_stores)
        yield _row("tokenize", f"{seconds:.2f} s, {num_bytes / 1e6 / seconds:.1f} MB/s")
    for store in stores[:_MAX_STORES_NAMED]:
        num_bytes = sum(file.num_bytes for file in store.notes.files.values())
        documents = store.notes.counts["num_documents"]
        how = "wrote" if store.is_new else "left"
        yield _row(how, f"{store.prefix}.bin, .idx  {documents:,} documents, {size(num_bytes)}")
    if len(stores) > _MAX_STORES_NAMED:
        num_bytes = sum(file.num_bytes for store in stores for file in store.notes.files.values())
        yield _row("", f"and so on: {size(num_bytes)} in all")


def _describe_store(prefix: str, store: "VerifiedStore") -> str:
    checked = "checksums are right" if store.notes else "no checksums are noted"
    origins = "says where each document came from"
    if not store.has_provenance:
        origins = "does not say where documents came from"
    return (
        f"{prefix}: {store.num_documents:,} documents ({store.num_empty:,} empty),"
        f" {store.num_sequences:,} sequences, {store.num_tokens:,} tokens of {store.dtype}, largest"
        f" id {store.max_id:,}; {checked}; {origins}"
    )


def _row(name: str, value: str) -> str:
    return f"  {name:<14} {value}"


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
