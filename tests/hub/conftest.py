"""SavedModels of a tiny model, exported once for all tests of this folder."""

from pathlib import Path

import pytest

from bert_data.hub import ExportConfig, export
from tests.hub.exports import write_model


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with preprocess/ and encoder/, rows of 8 by default."""
    folder = tmp_path_factory.mktemp("exported")
    model = write_model(folder)
    export(
        ExportConfig(
            vocab_file=model.vocab_file,
            init_checkpoint=str(folder),
            output_dir=str(folder / "hub"),
            seq_length=8,
        )
    )
    return folder / "hub"
