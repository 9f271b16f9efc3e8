"""Configuration of a classifier's training."""

import dataclasses
from typing import Annotated, NamedTuple

from bert_data.settings import OneOf, Within, check_settings
from bert_data.text.text_config import TextConfig

_MAX_LENGTH = 1024  # of n-grams, as readers allow
_MAX_SEED = 2**31 - 16  # fastText adds the number of a thread


class ClassFiles(NamedTuple):
    """The texts of a label.

    Attributes:
      label: of the texts; "" if each has its own.
    """

    label: str
    files: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """Configuration of `train_and_measure`; the defaults are DCLM's (fastText's, with bigrams).

    Attributes:
      classes: the files of each label, two or more; with `label_field` one, whose label is "".
      label_field: field with the label of a row, a word or whole number, if the files are not named
        by label.
      text: how files are read.
      dimension: length of the vectors.
      epochs: passes over the texts.
      learning_rate: initial learning rate, usually 0.1 to 1; it falls linearly to 0.
      word_ngrams: number of words of the longest n-grams; 1: words alone.
      min_characters: number of characters of the shortest n-grams within words; 0: none. They help
        with rare words and with languages without spaces; 3 and 6 are usual, or 1 and 3 for
        Chinese.
      max_characters: number of characters of the longest n-grams within words; 0: none.
      min_count: how often a word must occur to get its own vector; 5 saves memory.
      buckets: number of vectors that n-grams share, by hash.
      loss: softmax: the scores of all labels add up to 1. ova: the score of each label is
        independent (one vs. all).
      held_out: share of the texts of each label to evaluate the model on; 0: none.
      seed: seed of the order of texts, the choice of held-out texts and the initial vectors.
    """

    classes: tuple[ClassFiles, ...]
    label_field: str | None = None
    text: TextConfig = dataclasses.field(default_factory=TextConfig)
    dimension: Annotated[int, Within(1, 4096)] = 100
    epochs: Annotated[int, Within(1, 10_000)] = 5
    learning_rate: Annotated[float, Within(1e-6, 100)] = 0.1
    word_ngrams: Annotated[int, Within(1, _MAX_LENGTH)] = 2
    min_characters: Annotated[int, Within(0, _MAX_LENGTH)] = 0
    max_characters: Annotated[int, Within(0, _MAX_LENGTH)] = 0
    min_count: Annotated[int, Within(1)] = 1
    buckets: Annotated[int, Within(1, 100_000_000)] = 2_000_000
    loss: Annotated[str, OneOf(("softmax", "ova"))] = "softmax"
    held_out: Annotated[float, Within(0, 0.9)] = 0.1
    seed: Annotated[int, Within(0, _MAX_SEED)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.min_characters == 0) != (self.max_characters == 0):
            raise ValueError(
                f"min_characters is {self.min_characters} and max_characters"
                f" {self.max_characters}; both are 0, or neither"
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
                raise ValueError(
                    f"label {each.label!r} must be one word, and differ from the others"
                )
            for path in each.files:
                if seen.setdefault(path, each.label) != each.label:
                    raise ValueError(
                        f"{path} is among the texts of both {seen[path]!r} and {each.label!r}"
                    )


def is_label(name: str) -> bool:
    """Whether a name can be a label: it is one word."""
    return len(name.split()) == 1 and name == name.strip() and "\0" not in name
