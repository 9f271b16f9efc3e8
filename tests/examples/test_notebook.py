"""The notebook runs from top to bottom, and shows what it shows."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def notebook(checkout: Path) -> dict[str, Any]:
    path = checkout / "examples" / "from_text_to_model.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_it_is_a_notebook_with_its_output(notebook: dict[str, Any]) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["outputs"] for cell in code)


@pytest.mark.process
@pytest.mark.slow
def test_it_runs(notebook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer steps, to save time, and in one namespace, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scope: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).replace("num_train_steps=200", "num_train_steps=4")
            exec(compile(code, cell["id"], "exec"), scope)
    assert scope["trained"].step == 4
    assert len(scope["vocabulary"]) == 2000
    assert (scope["folder"] / "hf" / "model.safetensors").is_file()
