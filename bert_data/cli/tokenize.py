r"""Make token stores (.bin and .idx, as in Megatron-LM and NeMo Curator) from text.

A store of documents, for GPT: tokens.bin, tokens.idx, and tokens.store.json, which describes them:

    bert-data tokenize --input_file='web/*.jsonl.gz' --tokenizer_file=tokenizer.json \
        --append_eod --output_prefix=tokens

A store of sentences, which create_pretraining_data.py reads in place of the text:

    bert-data tokenize --input_file=corpus.txt --vocab_file=vocab.txt \
        --level=sentence --output_prefix=sentences

Eight stores (repeat the command if it was stopped), merged into one, which is then verified:

    bert-data tokenize ... --output_prefix=parts/web --partitions=8
    bert-data tokenize --merge=parts/web@8 --output_prefix=web
    bert-data tokenize --verify=web

The same by all nodes of a Ray cluster, which must share the storage:

    bert-data tokenize ... --partitions=1000 --engine=ray --ray_address=HOST:6379
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import engine_flags, entry, text_flags, tokenizer_flags
from bert_data.cli.flag_values import from_flags
from bert_data.kernels import clock
from bert_data.text.documents import DOCUMENT, LEVELS

FLAGS = flags.FLAGS

_COMMON = (  # for --help
    "input_file vocab_file tokenizer_file do_lower_case output_prefix level append_eod"
    " num_workers overwrite"
)

flags.DEFINE_string(
    "input_file",
    None,
    "Text: files or patterns, separated by commas; .gz, .zst, .bz2 and .xz are decompressed.",
)
TEXT = text_flags.define_text_flags()
flags.DEFINE_string("vocab_file", None, "WordPiece vocabulary, one token per line.")
tokenizer_flags.define_tokenizer_flags()
flags.DEFINE_bool("do_lower_case", True, "With --vocab_file: lower-case the text and drop accents.")
flags.DEFINE_enum(
    "level",
    DOCUMENT,
    LEVELS,
    "What a sequence of the store is: document for GPT, sentence for BERT.",
)
flags.DEFINE_bool("append_eod", False, "End each document with an end-of-document token.")
flags.DEFINE_string(
    "eod_token",
    None,
    "The end-of-document token; by default the vocabulary's token with one of the "
    "usual names (<|endoftext|>, </s> and the like). If it has none, a warning says "
    "so and none is appended.",
)
flags.DEFINE_bool("prepend_bos", False, "Begin each document with a start-of-document token.")
flags.DEFINE_string(
    "bos_token",
    None,
    "The start-of-document token; by default the vocabulary's token with one of the usual names"
    " (<s>, <|begin_of_text|> and the like). If it has none, that is an error.",
)
flags.DEFINE_enum(
    "dtype_rule",
    "curator",
    ["curator", "megatron"],
    "When ids are uint16 instead of int32. curator: up to 65,536 tokens. megatron: "
    "fewer than 65,500.",
)
flags.DEFINE_enum(
    "empty_documents",
    "megatron",
    ["megatron", "curator"],
    "How to store documents without tokens (jsonl, parquet; lines have none). "
    "megatron: no sequence; the boundary is repeated. curator: a sequence of length "
    "0, or of one token with --append_eod.",
)
flags.DEFINE_string("output_prefix", None, "The store is PREFIX.bin and PREFIX.idx.")
flags.DEFINE_enum(
    "names",
    "prefix",
    ["prefix", "curator"],
    "How to name a store: by --output_prefix, or as NeMo Curator does: in "
    "--output_dir, by a hash of the input file names and --task_id.",
)
flags.DEFINE_string("output_dir", None, "With --names=curator: folder of the stores.")
flags.DEFINE_string("task_id", "0", "With --names=curator: id of the writer's task.")
flags.DEFINE_integer(
    "partitions",
    1,
    "Cut the text into so many parts of about the same size, each a store of its own:"
    " PREFIX-00000-of-0000N. Those that are whole are not made again when the command is run again."
    " Cuts are at ends of documents, between files that are compressed and between the row groups"
    " of Parquet files.",
)
flags.DEFINE_integer(
    "num_workers",
    0,
    "Threads, or processes that make several partitions at a time; 0 is all cores. The files do not"
    " depend on it.",
)
ENGINE = engine_flags.define_engine_flags()
flags.DEFINE_integer(
    "max_memory_mb",
    1000,
    "Memory to use on this machine, in MB, 300 or more; it limits the number of workers.",
)
flags.DEFINE_bool("overwrite", False, "Replace existing stores.")
flags.DEFINE_list(
    "merge",
    None,
    "Instead of reading text: join these stores, given by prefix (PREFIX@N for N partitions, or a"
    " pattern), into one with --output_prefix.",
)
flags.DEFINE_string(
    "verify", None, "Instead of reading text: read and check the whole store with this prefix."
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
    from bert_data.tokens.store_making import PARTITION_MB, StoreConfig, make_stores
    from bert_data.work import MAX_WORKERS, count_workers

    engine = ENGINE()
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
            text=TEXT(),
            num_partitions=FLAGS.partitions,
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
