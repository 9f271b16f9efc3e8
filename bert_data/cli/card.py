r"""Write a dataset card for the Hugging Face Hub, from the manifest beside the data.

    bert-data card --input_file=corpus/curation.web.jsonl.json \
        --license=odc-by --languages=en

writes README.md beside the data: YAML for the hub (licence, languages, size, the files that
`datasets` loads), counts, what each curation step removed, and the settings. The card leaves out
what neither the manifest nor the flags say.

    # for a token store, and for records or GPT samples
    bert-data card --input_file=web.store.json
    bert-data card --input_file=manifest.train.parquet.json
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.hub.export_config import DatasetCardConfig

_COMMON = "input_file name license languages overwrite"
SECTIONS = (Section("", settings(DatasetCardConfig)),)


def main(_: Sequence[str]) -> None:
    """Write the card."""
    from bert_data.hub.dataset_card import write_dataset_card

    logging.info("wrote %s", write_dataset_card(from_flags(DatasetCardConfig)))


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
