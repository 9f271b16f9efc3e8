r"""Write a trained model as a folder that Hugging Face's transformers loads.

    bert-data export-hf --init_checkpoint=model --vocab_file=vocab.txt \
        --output_dir=hf

writes model.safetensors, config.json, vocab.txt, tokenizer.json, tokenizer_config.json,
special_tokens_map.json and README.md, a model card with the data, steps and evaluation that the
checkpoint and its folder record; a README.md that you wrote stays. Then, in transformers:

    # or AutoModel, AutoModelForMaskedLM, ...
    model = BertForPreTraining.from_pretrained("hf")
    tokenizer = AutoTokenizer.from_pretrained("hf")

For the way back, run_pretraining.py and export-hub take such a folder as --init_checkpoint.
"""

from collections.abc import Sequence

from absl import logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, require, settings
from bert_data.cli.shared_flags import model_settings
from bert_data.hub.export_config import HuggingFaceExportConfig
from bert_data.quiet_tensorflow import import_tensorflow

_COMMON = "init_checkpoint vocab_file tokenizer_file do_lower_case output_dir overwrite"
SECTIONS = (
    Section(
        "",
        (
            *require(model_settings(), "init_checkpoint"),
            *settings(HuggingFaceExportConfig, "output_dir overwrite"),
        ),
    ),
)


def main(_: Sequence[str]) -> None:
    """Write the folder as the flags say."""
    from bert_data import hub

    config = from_flags(HuggingFaceExportConfig)
    import_tensorflow()
    logging.info("%s", hub.export_hugging_face(config))


if __name__ == "__main__":
    entry.run(main, groups={"common": _COMMON})
