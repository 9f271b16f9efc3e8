r"""Write a dataset card for Hugging Face's hub, from the manifest that lies beside the data.

    bert-data card --input_file=corpus/curation.web.jsonl.json \
        --license=odc-by --languages=en

writes README.md beside the data: YAML that the hub reads (licence, languages, size, the files that
its library loads), counts, what each step of curation removed, and the settings. What the manifest
and the flags do not say is left out.

    bert-data card --input_file=web.store.json                # of a token store
    # of records or GPT samples
    bert-data card --input_file=manifest.train.parquet.json
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.hub.dataset_card import DatasetCardConfig

_COMMON = "input_file name license languages overwrite"
SECTIONS = (Section("", settings(DatasetCardConfig)),)


def main(_: Sequence[str]) -> None:
    """Write the card."""
    from bert_data.hub.dataset_card import write_dataset_card

    logging.info("wrote %s", write_dataset_card(from_flags(DatasetCardConfig)))


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
