"""The settings of records of labelled texts: texts, labels, and the files that they are in."""

import dataclasses
from typing import TYPE_CHECKING, Annotated

from bert_data.records.choices import LABEL, TEXTS
from bert_data.settings import AUTO, OneOf, Within, check_settings
from bert_data.text.text_config import DEFAULT_LANGUAGE, check_language
from bert_data.work import count_workers

if TYPE_CHECKING:
    from bert_data.records.fields import RecordKind

INTEGER, CLASS = "integer", "class"
LABEL_KINDS = (AUTO, INTEGER, CLASS)
MAX_CLASSES = 10_000

ONE, LINES, SPLIT = SENTENCES = ("one", "lines", "split")
"""Ways to divide a text: it is one sentence, or its lines are, or those of `split_sentences`."""

TEXT_FORMATS = ("csv", "tsv", "jsonl")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelConfig:
    """The way in which labels are stored.

    Attributes:
      label_kind: what labels are. integer: integers, stored unchanged. class: names, stored as the
        number of their class, from 0. auto: integer if every label is an integer, otherwise class.
      classes: names of classes 0, 1 and so on; by default all that occur, sorted. Give a test set
        the classes of the training set.
      max_classes: largest number of different labels if `classes` does not name them. More are an
        error, as they usually mean that the columns of texts and labels are swapped.
    """

    label_kind: Annotated[str, OneOf(LABEL_KINDS)] = AUTO
    classes: tuple[str, ...] = ()
    max_classes: Annotated[int, Within(1, MAX_CLASSES)] = 100

    def __post_init__(self) -> None:
        check_settings(self)
        if self.classes and self.label_kind == INTEGER:
            raise ValueError(f"classes is {self.classes!r}; integer labels have none")
        if len(set(self.classes)) < len(self.classes) or not all(self.classes):
            raise ValueError(f"classes is {self.classes!r}; different names are needed")

    @property
    def needs_look(self) -> bool:
        """Whether all labels must be read before any can be numbered."""
        return self.label_kind != INTEGER and not self.classes


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledTextConfig:
    """The columns of files that hold texts and labels.

    Attributes:
      text_columns: column (JSON: key) of the text; for pairs of texts two, separated by a comma.
      label_column: column of the label.
      input_format: format of all files, whatever their endings: csv (quotes around commas and line
        ends), tsv (no quotes) or jsonl (JSON Lines).
      column_names: names of all columns, in order, for CSV and TSV files without a header line.
    """

    text_columns: tuple[str, ...] = ("text",)
    label_column: str = "label"
    input_format: Annotated[str, OneOf(TEXT_FORMATS)] | None = None
    column_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        if len(self.text_columns) not in (1, 2):
            raise ValueError(f"text_columns is {self.text_columns!r}; name one or two columns")
        columns = (*self.text_columns, self.label_column)
        if len(set(columns)) < len(columns) or not all(columns):
            raise ValueError(f"the columns are {columns!r}; they must differ")
        if self.column_names:
            missing = [name for name in columns if name not in self.column_names]
            if missing:
                raise ValueError(
                    f"column_names is {self.column_names!r}; {missing[0]!r} is missing"
                )
            if len(set(self.column_names)) < len(self.column_names):
                raise ValueError(f"column_names is {self.column_names!r}; each name may occur once")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledDatasetConfig:
    """Configuration of `create_labelled_dataset`.

    Attributes:
      input_file: labelled texts: files or patterns, separated by commas; may be compressed.
      output_file: TFRecord file, or a comma-separated list of files; path@N means N files,
        path-00000-of-0000N and so on. Records are dealt to the files in turn.
      vocab_file: WordPiece vocabulary, one token per line. Set this or `tokenizer_file`.
      tokenizer_file: a tokenizer.json with a WordPiece model and BERT's rules, in place of
        `vocab_file`.
      do_lower_case: with `vocab_file`: lower-case the text and drop accents. By default true, but
        an error if the vocabulary is cased.
      texts: where the files hold texts and labels.
      labels: what labels are.
      text_features: name of the text in records; for pairs two, separated by a comma. By default
        text, and text_b for the second. The features with its tokens begin with that name:
        text_tokens_values and so on.
      label_feature: name of the label in records.
      sentences: how a text is divided into sentences. one: not at all. lines: at line ends. split:
        by the rules of `language`. With lines and split, a JSON list of strings is taken as
        sentences.
      language: language of the texts, for `sentences=split`.
      num_workers: threads; 0 uses all cores. The output does not depend on it.
      work_dir: folder for a temporary copy of all records; by default the folder of the first
        output.
      overwrite: replace existing outputs.
    """

    input_file: str
    output_file: str
    vocab_file: str | None = None
    tokenizer_file: str | None = None
    do_lower_case: bool | None = None
    texts: LabelledTextConfig = dataclasses.field(default_factory=LabelledTextConfig)
    labels: LabelConfig = dataclasses.field(default_factory=LabelConfig)
    text_features: tuple[str, ...] = ()
    label_feature: str = LABEL
    sentences: Annotated[str, OneOf(SENTENCES)] = ONE
    language: str = DEFAULT_LANGUAGE
    num_workers: int = 0
    work_dir: str | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        check_language(self.language)
        count_workers(self.num_workers)
        if len(self.text_features) not in (0, len(self.texts.text_columns)):
            raise ValueError(
                f"text_features is {self.text_features!r}; {len(self.texts.text_columns)} must be"
                " named, one for each of `text_columns`"
            )
        if not all((*self.text_features, self.label_feature)):
            raise ValueError("text_features and label_feature must not be empty")
        _ = self.kind  # refuses a name that occurs twice

    @property
    def kind(self) -> "RecordKind":
        """The fields of a record."""
        from bert_data.records.fields import labelled_records  # which loads NumPy

        texts = self.text_features or TEXTS[: len(self.texts.text_columns)]
        return labelled_records(texts, self.label_feature)
