"""Configuration of a classifier's training.

ClassifierConfig(classes=(ClassFiles("hq", ("wiki.jsonl",)), ClassFiles("cc", ("web.jsonl",))))
"""

import dataclasses
from typing import NamedTuple

from bert_data.bounds import check_bounds, check_choice, check_integer
from bert_data.curation.classifying.fasttext_kernels import ONE_VS_ALL, SOFTMAX
from bert_data.plain_values import make_plain
from bert_data.text.documents import TextConfig

LOSSES = {"softmax": SOFTMAX, "ova": ONE_VS_ALL}
_MAX_LENGTH = 1024  # of n-grams, as readers allow
_MAX_SEED = 2**31 - 16  # fastText adds the number of a thread


class ClassFiles(NamedTuple):
    """The texts of a label.

    Attributes:
      label: of the texts; "" if each has its own.
      files: paths.
    """

    label: str
    files: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """Configuration of `train_classifier`; the defaults are DCLM's (fastText's, with bigrams).

    Attributes:
      classes: the files of each label, two or more; with `label_field` one, whose label is "".
      label_field: field of the rows that holds the label; None: `classes` tells.
      text: how files are read.
      dimension: numbers of a vector; 1 to 4,096.
      epochs: passes over the texts; 1 to 10,000.
      learning_rate: at the start; it falls to 0 linearly. Above 0, at most 100.
      word_ngrams: words of the longest n-grams of words; 1: words alone.
      min_characters: of n-grams of characters; 0: none.
      max_characters: of n-grams of characters; 0: none.
      min_count: how often a word must occur to have its own vector; >= 1.
      buckets: of the hashed n-grams; 1 to 100,000,000.
      loss: one of `LOSSES`: a softmax over all labels, or a logistic function for each.
      held_out: share of the texts of each label to measure the model with; in [0, 0.9].
      seed: of the order of texts and the initial vectors; >= 0.
      num_workers: threads; 0: one for each core.
    """

    classes: tuple[ClassFiles, ...]
    label_field: str | None = None
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    dimension: int = 100
    epochs: int = 5
    learning_rate: float = 0.1
    word_ngrams: int = 2
    min_characters: int = 0
    max_characters: int = 0
    min_count: int = 1
    buckets: int = 2_000_000
    loss: str = "softmax"
    held_out: float = 0.1
    seed: int = 0
    num_workers: int = 0

    def __post_init__(self) -> None:
        make_plain(self)
        for field, low, high in (
            ("dimension", 1, 4096),
            ("epochs", 1, 10_000),
            ("word_ngrams", 1, _MAX_LENGTH),
            ("min_characters", 0, _MAX_LENGTH),
            ("max_characters", 0, _MAX_LENGTH),
            ("min_count", 1, 2**31 - 1),
            ("buckets", 1, 100_000_000),
            ("seed", 0, _MAX_SEED),
        ):
            check_integer(field, getattr(self, field), low, high)
        check_bounds("learning_rate", self.learning_rate, 1e-6, 100)
        check_bounds("held_out", self.held_out, 0, 0.9)
        check_choice("loss", self.loss, list(LOSSES))
        if (self.min_characters == 0) != (self.max_characters == 0):
            raise ValueError(
                f"min_characters is {self.min_characters} and max_characters"
                f" {self.max_characters}; both are 0, or neither"
            )
        if self.min_characters > self.max_characters:
            raise ValueError(
                f"min_characters is {self.min_characters}; it must be at most max_characters,"
                f" {self.max_characters}"
            )
        self._check_classes()

    def _check_classes(self) -> None:
        if self.label_field is not None:
            if any(each.label for each in self.classes):
                raise ValueError(
                    f"label_field is {self.label_field!r}, but the files of each label are named;"
                    " leave one of the two out"
                )
            return
        seen: dict[str, str] = {}
        labels = [each.label for each in self.classes]
        for each in self.classes:
            if not is_label(each.label) or labels.count(each.label) > 1:
                raise ValueError(f"a label is {each.label!r}; labels must differ, one word each")
            for path in each.files:
                if seen.setdefault(path, each.label) != each.label:
                    raise ValueError(
                        f"{path} is among the texts of both {seen[path]!r} and {each.label!r}"
                    )

    @property
    def num_buckets(self) -> int:
        """Buckets of the model: none if it has no n-grams."""
        return self.buckets if self.word_ngrams > 1 or self.max_characters else 0


def is_label(name: str) -> bool:
    """Whether a name can be a label: it is one word."""
    return len(name.split()) == 1 and name == name.strip() and "\0" not in name
