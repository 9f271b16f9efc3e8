r"""Take documents out of token stores, as if the text had never had them.

The ids of the documents, one a line, are in a file; the new store is beside the old one, which
stays as it is:

    bert-data forget --input_file=web --documents=ids.txt --output_prefix=clean/web

All partitions of a text together, so that rows of their files are counted right:

    bert-data forget --input_file=parts/web@8 --documents=ids.txt --output_prefix=clean/web

All documents with one of the ids go. The new files are those that `tokenize` makes of the input
without these documents, byte for byte, in a small part of the time; take them out of the input,
too. Documents are found by the list beside a store (PREFIX.provenance), which `tokenize` keeps.

What was made of the store is made again, of the new one: records by `create`, GPT samples by
`build-samples`. A recipe that names the new store is another run, with an order of its own.
"""

from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.progress import how_many
from bert_data.tokens.forgetting import ForgetConfig, forget_documents

FLAGS = flags.FLAGS

_COMMON = "input_file documents output_prefix overwrite"  # for --help
SECTIONS = (Section("", settings(ForgetConfig)),)


def main(_: Sequence[str]) -> None:
    """Write the stores that the flags name, without some documents."""
    done = forget_documents(from_flags(ForgetConfig))
    logging.info(
        "%s of %s taken out of %s",
        how_many(done.num_forgotten, "document"),
        how_many(done.num_ids, "id"),
        how_many(done.num_documents, "document"),
    )
    for prefix in done.prefixes:
        logging.info("  wrote          %s.bin, .idx", prefix)


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
