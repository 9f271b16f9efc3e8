r"""Train a fastText classifier of documents, for their quality or topic for example.

    bert-data train-classifier --positive_file='cited/*.jsonl' \
        --negative_file='crawl/*.jsonl' \
        --output_file=quality.bin
    bert-data train-classifier --input_file=labelled.parquet \
        --label_field=topic --output_file=topics.bin

Good texts are, for example, pages that Wikipedia cites (LLaMA, Skywork) or books and curated pages
(GPT-3); the others are about as many random pages of the crawl. Clean both in the same way first,
or the model learns the difference in cleaning.

The fastText library (pip install '.[classifier]') trains its supervised model, by default with
DCLM's settings: words and pairs of words, 100 dimensions, 5 epochs. `fasttext.load_model` and the
step `classifier` read the file:

    bert-data curate --input_file=crawl=crawl.jsonl --output_file=good.jsonl \
        --steps=classifier:model_file=quality.bin,label=positive,min_score=0.5

A tenth of the texts of each label is held out. For them the command prints the precision, recall
and F1 of each label and, to help you choose min_score, the share of both classes that some scores
would keep. The same texts and flags give the same file, because training uses one thread.

If all scores are close to 0.5, there are too few texts: raise --epochs (25) and --learning_rate
(0.5 to 1). A model takes 4 bytes for each of (words + buckets) x dimension numbers, 0.8 GB by
default; --buckets=200000 is enough for a few thousand texts.
"""

import dataclasses
from collections.abc import Sequence

from absl import flags, logging

from bert_data.cli import entry
from bert_data.cli.settings_flags import Section, from_flags, settings
from bert_data.cli.shared_flags import text_section
from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
from bert_data.text.text_config import TextConfig

FLAGS = flags.FLAGS

_GROUPS = {  # what --help shows first
    "common": "positive_file negative_file positive_label negative_label input_file"
    " label_field output_file held_out overwrite",
    "training": "epochs learning_rate dimension word_ngrams min_characters max_characters min_count"
    " buckets loss seed",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassFlags:
    """The flags of this command alone.

    Attributes:
      positive_file: good texts: files or patterns, separated by commas; may be compressed.
      negative_file: the other texts, likewise.
      positive_label: label of the good texts in the model.
      negative_label: label of the other texts in the model.
      input_file: instead of `positive_file` and `negative_file`: texts with two or more labels.
      output_file: file for the model, such as quality.bin.
      overwrite: replace an existing model.
    """

    positive_file: str | None = None
    negative_file: str | None = None
    positive_label: str = "positive"
    negative_label: str = "negative"
    input_file: str | None = None
    output_file: str
    overwrite: bool = False


SECTIONS = (Section("", (*settings(ClassFlags), *settings(ClassifierConfig))), text_section())


def main(_: Sequence[str]) -> None:
    """Flags to a model."""
    from bert_data.curation.classifying.training import train_and_measure

    config = from_flags(ClassifierConfig, classes=_classes(), text=from_flags(TextConfig))
    trained = train_and_measure(config, FLAGS.output_file, overwrite=FLAGS.overwrite)
    logging.info("%s\n%s", FLAGS.output_file, trained)
    if not trained.has_learned:
        logging.warning(
            "the model has learned little: its mean loss is %.3f, and %.3f without any training;"
            " raise --epochs (now %d) and --learning_rate (now %g), or train on more texts",
            trained.loss,
            trained.chance_loss,
            FLAGS.epochs,
            FLAGS.learning_rate,
        )


def _classes() -> tuple[ClassFiles, ...]:
    from bert_data.storage import expand_inputs

    pair = [
        (FLAGS.positive_label, FLAGS.positive_file, "--positive_file"),
        (FLAGS.negative_label, FLAGS.negative_file, "--negative_file"),
    ]
    set_flags = [flag for _, files, flag in pair if files]
    if FLAGS.input_file:
        if set_flags:
            raise ValueError(
                f"--input_file and {set_flags[0]} are both set; choose one of the two ways"
            )
        if not FLAGS.label_field:
            raise ValueError("--label_field is missing: name the field of --input_file's labels")
        return (ClassFiles("", tuple(expand_inputs(FLAGS.input_file))),)
    if FLAGS.label_field:
        raise ValueError("--label_field is set without --input_file, the labelled texts")
    if len(set_flags) < 2:
        missing = next(flag for _, files, flag in pair if not files)
        raise ValueError(
            f"{missing} is missing: name good texts by --positive_file and others by"
            " --negative_file, or labelled ones by --input_file and --label_field"
        )
    return tuple(ClassFiles(label, tuple(expand_inputs(files))) for label, files, _ in pair)


if __name__ == "__main__":
    entry.run(main, groups=_GROUPS)
