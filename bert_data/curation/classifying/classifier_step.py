"""What the steps that score texts with a model of fastText share: the model and one label."""

import abc
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

from bert_data.curation.classifying.classifier import Classifier, open_classifier, write_model
from bert_data.curation.document import Document
from bert_data.curation.parameters import Name
from bert_data.curation.step import DocumentStep
from bert_data.curation.verdict import Verdict


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierStep(DocumentStep):
    """A step that scores texts by the probability of a label."""

    model_file: Name
    label: Name

    def prepare(self, folder: Path) -> None:
        """Read the model, and leave its arrays."""
        write_model(folder, self.model_file, self.label)

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        """Map the model."""
        return functools.partial(self.judge_by, open_classifier(folder, self.label))

    @abc.abstractmethod
    def judge_by(self, classifier: Classifier, document: Document) -> Verdict:
        """Judge a document by the scores of its texts."""
