r"""Take documents out of token stores and curated sets, as if the text had never had them.

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

What was made of a store is made again, of the new one: records by `create`, GPT samples by
`build-samples`.
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.progress import how_many
from bert_data.tokens.forgetting import ForgetConfig, Forgotten, forget_documents
from bert_data.tokens.store_files import are_store_names

FLAGS = flags.FLAGS

_COMMON = "input_file recipe documents output_prefix overwrite"  # for --help
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
    if config.recipe is not None:
        from bert_data.recipes.forgetting import forget_in_recipe

        return forget_in_recipe(config)
    assert config.input_file is not None
    if not are_store_names(config.input_file.split(",")):
        from bert_data.curation.running.run import summary_of
        from bert_data.storage import exists

        if exists(summary_of(config.input_file)):
            from bert_data.curation.running.forgetting import forget_curated

            return forget_curated(config)
        _refuse_records(config)
    return forget_documents(config)


def _refuse_records(config: ForgetConfig) -> None:
    """Say how a set of records is made again without documents, by its manifest."""
    from bert_data.datasets.dataset_config import DatasetConfig
    from bert_data.datasets.manifest import manifest_path, read_manifest
    from bert_data.objectives.making import InstanceConfig
    from bert_data.settings import settings_of
    from bert_data.storage import exists, expand_outputs
    from bert_data.text.documents import TextConfig

    assert config.input_file is not None
    path = manifest_path(expand_outputs(config.input_file).name)
    if not exists(path):
        return
    told = vars(manifest := read_manifest(path)) | dict(manifest.flags)
    known = {
        name: setting.default
        for kind in (InstanceConfig, TextConfig, DatasetConfig)
        for name, setting in settings_of(kind).items()
    }
    flags = "".join(
        f" --{name}={value}"
        for name, value in told.items()
        if name in known and isinstance(value, bool | int | float | str) and value != known[name]
    )
    raise ValueError(
        f"{config.input_file} is records, whose manifest does not name the store that they are of,"
        " and without a document the random draws for all others change; take the documents out of"
        " that store, and make the records again, which takes as long as it did: `bert-data create"
        f" --input_file=STORE --vocab_file=VOCAB --output_file={config.output_prefix}{flags}`"
    )


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
