"""What the steps that run a trained model share: its parameters and its files."""

import dataclasses
from typing import Annotated

from bert_data.curation.models.text_model import ModelConfig
from bert_data.curation.parameters import Within
from bert_data.curation.step import CorpusStep


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelStep(CorpusStep):
    """A step that runs a model over all documents; for its parameters see `ModelConfig`."""

    model: str
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    max_seq_length: Annotated[int, Within(8)] | None = None
    max_windows: Annotated[int, Within(1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model_config()

    def model_config(self) -> ModelConfig:
        """Return the configuration of the model."""
        names = (field.name for field in dataclasses.fields(ModelConfig))
        return ModelConfig(**{name: getattr(self, name) for name in names})

    def files(self) -> list[str]:
        """Return the files of the model."""
        return self.model_config().files()
