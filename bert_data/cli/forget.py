r"""Take documents out of stores, curated sets and records, as if the text had never had them.

The ids of the documents, one a line, are in a file; the new store is beside the old one, which
stays as it is:

    bert-data forget --input_file=web --documents=ids.txt --output_prefix=clean/web

All partitions of a text together, so that rows of their files are counted right:

    bert-data forget --input_file=parts/web@8 --documents=ids.txt --output_prefix=clean/web

All documents with one of the ids go. The new files are those that `tokenize` makes of the input
without these documents, byte for byte, in a small part of the time; take them out of the input,
too. Documents are found by the list beside a store (PREFIX.provenance), which `tokenize` keeps.

What `curate` wrote, in JSON Lines, is read with its ledger and its input:

    bert-data forget --input_file=clean.jsonl.gz@8 --documents=ids.txt \
        --output_prefix=new/clean.jsonl.gz@8

The new files, with their ledger and summary, are those that `curate --without_documents=ids.txt`
writes; documents that were duplicates of one that is gone come back. Where a step decides over all
documents (mix, percentiles, lines or runs of words that repeat), run that command in its place.

All stores of a recipe, and a recipe that names the new ones, which is another run, with an order of
its own:

    bert-data forget --recipe=recipe.yaml --documents=ids.txt --output_prefix=clean/

Records of `create` and GPT samples of `build-samples` are made again without them, byte for byte
as by a fresh run, and in its time. The stores that they were made of are written beside them; text
is read without the documents:

    bert-data forget --input_file=train@8 --documents=ids.txt --vocab_file=vocab.txt \
        --output_prefix=clean/train@8
    bert-data forget --input_file=train@8 --documents=ids.txt --vocab_file=vocab.txt \
        --output_prefix=clean/train@8 --made_from='text/*.jsonl'
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.progress import how_many
from bert_data.tokens.forgetting_stores import ForgetConfig, Forgotten, forget_documents
from bert_data.tokens.store_files import are_store_names

FLAGS = flags.FLAGS

_COMMON = "input_file recipe documents output_prefix made_from vocab_file overwrite"  # for --help
SECTIONS = (Section("", settings(ForgetConfig)),)


def main(_: Sequence[str]) -> None:
    """Write the stores that the flags name, without some documents."""
    done = _forget(from_flags(ForgetConfig))
    logging.info(
        "%s of %s taken out of %s",
        how_many(done.num_forgotten, "document"),
        how_many(done.num_ids, "id"),
        how_many(done.num_documents, "document"),
    )
    for name in done.prefixes:
        logging.info("  wrote          %s", name)


def _forget(config: ForgetConfig) -> Forgotten:
    from bert_data.curation.running.run import summary_of
    from bert_data.datasets.forgetting_sets import find_set, forget_in_set
    from bert_data.storage import exists

    names = config.input_file
    are_stores = names is None or are_store_names(names.split(","))
    earlier = None if names is None or are_stores else find_set(names)
    if earlier is not None:
        return forget_in_set(config, earlier)
    is_curated = not are_stores and exists(summary_of(str(names)))
    for name in ("made_from", "vocab_file", "tokenizer_file"):
        if (are_stores or is_curated) and getattr(config, name) is not None:
            raise ValueError(
                f"`{name}` is for records and samples; {names or config.recipe} is not"
            )
    if config.recipe is not None:
        from bert_data.recipes.forgetting_recipes import forget_in_recipe

        return forget_in_recipe(config)
    if is_curated:
        from bert_data.curation.running.forgetting_corpora import forget_curated

        return forget_curated(config)
    return forget_documents(config)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
