r"""Make token stores (.bin and .idx, as in Megatron-LM and NeMo Curator) from text.

A store of documents, for GPT: tokens.bin, tokens.idx, and tokens.store.json, which describes them:

    bert-data tokenize --input_file='web/*.jsonl.gz' --tokenizer_file=tokenizer.json \
        --append_eod --output_prefix=tokens

A store of sentences, which create_pretraining_data.py reads in place of the text:

    bert-data tokenize --input_file=corpus.txt --vocab_file=vocab.txt \
        --level=sentence --output_prefix=sentences

Eight stores (repeat the command if it was stopped), merged into one, which is then verified:

    bert-data tokenize ... --output_prefix=parts/web --num_partitions=8
    bert-data tokenize --merge=parts/web@8 --output_prefix=web
    bert-data tokenize --verify=web

The same by all nodes of a Ray cluster, which must share the storage:

    bert-data tokenize ... --num_partitions=1000 --engine=ray --ray_address=HOST:6379
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, flag, from_flags, settings
from bert_data.cli.shared_flags import ENGINE, engine_of_flags, text_section, tokenizer_section
from bert_data.kernels import clock
from bert_data.text.documents import TextConfig
from bert_data.tokens.store_config import StoreConfig

FLAGS = flags.FLAGS

_COMMON = (  # for --help
    "input_file vocab_file tokenizer_file do_lower_case output_prefix level append_eod"
    " num_workers overwrite"
)
SECTIONS = (
    Section(
        "",
        settings(
            StoreConfig,
            without="tokenizer_file tokenizer_backend num_processes",
            changes={
                "input_file": {"default": None},
                "output_prefix": {"default": None},
                "num_workers": {
                    "default": 0,
                    "help": "Threads, or processes that make several partitions at a time; 0 is all"
                    " cores. The files do not depend on it.",
                },
            },
        ),
    ),
    Section(
        "",
        (
            flag(
                "names",
                "prefix",
                "How to name a store: by `output_prefix`, or as NeMo Curator does: in `output_dir`,"
                " by a hash of the input file names and `task_id`.",
                choices=("prefix", "curator"),
            ),
            flag("output_dir", None, "With `names=curator`: folder of the stores."),
            flag("task_id", "0", "With `names=curator`: id of the writer's task."),
            flag(
                "max_memory_mb",
                1000,
                "Memory to use on this machine, in MB, 300 or more; it limits the number of"
                " workers.",
            ),
            flag(
                "merge",
                None,
                "Instead of reading text: join these stores, given by prefix (PREFIX@N for N"
                " partitions, or a pattern), into one with `output_prefix`.",
                kind=list,
            ),
            flag(
                "verify",
                None,
                "Instead of reading text: read and check the whole store with this prefix.",
            ),
        ),
    ),
    text_section(),
    ENGINE,
    tokenizer_section(StoreConfig),
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
        logging.info("%s", _verify(FLAGS.verify))
    elif FLAGS.merge:
        logging.info("%s", _merge(FLAGS.merge))
    else:
        logging.info("%s", _tokenize())


def _tokenize() -> str:
    from bert_data.cli.store_report import describe_stores
    from bert_data.datasets.budget import share_memory
    from bert_data.tokens.store_making import PARTITION_MB, make_stores
    from bert_data.work import MAX_WORKERS, count_workers

    engine = engine_of_flags()
    if engine.is_cluster:
        num_workers = engine.count_workers(FLAGS.num_workers)
    else:
        budget = share_memory(FLAGS.max_memory_mb, count_workers(FLAGS.num_workers))
        num_workers = budget.num_workers
    start = clock()
    stores = make_stores(
        from_flags(
            StoreConfig,
            output_prefix=_output_prefix(),
            text=from_flags(TextConfig),
            num_workers=num_workers,
            num_processes=max(1, min(FLAGS.max_memory_mb // PARTITION_MB, MAX_WORKERS)),
            engine=engine,
        )
    )
    return describe_stores(stores, clock() - start)


def _output_prefix() -> str:
    if FLAGS.names == "prefix":
        if FLAGS.output_dir:
            raise ValueError(
                "--output_dir goes with --names=curator; add that, or name the store by"
                " --output_prefix alone"
            )
        if not FLAGS.output_prefix:
            raise ValueError("--output_prefix is missing: name the store to write")
        return FLAGS.output_prefix
    if FLAGS.output_prefix:
        raise ValueError("--output_prefix goes with --names=prefix; drop one of them")
    if not FLAGS.output_dir:
        raise ValueError("--output_dir is missing: name the folder for the stores")
    from bert_data.storage import expand_inputs
    from bert_data.tokens.store_making import curator_prefix

    return curator_prefix(FLAGS.output_dir, expand_inputs(FLAGS.input_file), FLAGS.task_id)


def _merge(entries: Sequence[str]) -> str:
    if entries[0].startswith("-"):
        raise ValueError(f"--merge needs stores, such as --merge=a,b; {entries[0]!r} is a flag")
    if not all(entries):
        raise ValueError(f"--merge={','.join(entries)} has an empty name; name stores")
    if not FLAGS.output_prefix:
        raise ValueError("--output_prefix is missing: name the store that --merge makes")
    from bert_data.cli.store_report import describe_store
    from bert_data.tokens.merging import merge_stores
    from bert_data.tokens.store_names import expand_stores
    from bert_data.tokens.verifying import verify_store

    prefixes = expand_stores(entries)
    merge_stores(prefixes, FLAGS.output_prefix, overwrite=FLAGS.overwrite)
    merged = describe_store(FLAGS.output_prefix, verify_store(FLAGS.output_prefix))
    return f"{len(prefixes)} stores merged; {merged}"


def _verify(prefix: str) -> str:
    if prefix.startswith("-"):
        raise ValueError(f"--verify needs a store, such as --verify=a; {prefix!r} is a flag")
    prefix = prefix.removesuffix(".bin").removesuffix(".idx")  # of one of its files
    from bert_data.cli.store_report import describe_store
    from bert_data.tokens.verifying import verify_store

    return describe_store(prefix, verify_store(prefix))


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
