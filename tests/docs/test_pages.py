"""Every fenced block of README and docs runs, and prints what the page shows."""

import collections
import re
from pathlib import Path

import pytest

from examples.pictures import read_commands
from tests.docs.blocks import Block, read_blocks
from tests.docs.running import CHECKOUT, PageRun
from tests.forking import Programs
from tests.object_store import ObjectStore

FENCE = re.compile(r"^ *(?:```|~~~)", re.MULTILINE)
FILES = [CHECKOUT / "README.md", *sorted(CHECKOUT.glob("docs/**/*.md"))]
PAGES = [str(f.relative_to(CHECKOUT)) for f in FILES if FENCE.search(f.read_text("utf-8"))]
# Blocks that do not run: `<!-- not run: REASON -->` above each says why.
NUM_NOT_RUN = {
    "README.md": 3,
    "docs/design.md": 1,
    "docs/guides/accelerators.md": 4,
    "docs/guides/cluster.md": 6,
    "docs/guides/corpora.md": 2,
    "docs/guides/curate.md": 3,
    "docs/guides/object_storage.md": 2,
    "docs/guides/pytorch.md": 2,
    "docs/guides/ten_terabytes.md": 1,
    "docs/guides/text.md": 2,
    "docs/guides/tf_hub.md": 1,
    "docs/guides/training.md": 1,
    "docs/tutorial.md": 1,
}


def blocks_of(name: str) -> list[Block]:
    return read_blocks(CHECKOUT / name, name)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of transformers
@pytest.mark.filterwarnings("ignore:.shuffle=True. was passed:UserWarning")  # of Keras's fit
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs(
    name: str,
    tensorflow_programs: Programs,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    def bucket() -> ObjectStore:
        return ObjectStore(request.getfixturevalue("object_server"), "my-bucket")

    monkeypatch.chdir(tmp_path)
    run = PageRun(tensorflow_programs, tmp_path_factory.mktemp("bin"), bucket)
    for block in blocks_of(name):
        run.run(block)


@pytest.mark.parametrize("name", PAGES)
def test_every_fence_is_that_of_a_block(name: str) -> None:
    fences = FENCE.findall((CHECKOUT / name).read_text("utf-8"))
    assert len(fences) == 2 * len(blocks_of(name))


def test_blocks_that_do_not_run_are_counted_and_say_why() -> None:
    blocks = [block for name in PAGES for block in blocks_of(name) if block.role == "not run"]
    reasons = "\n".join(f"{block}: {block.marks['not run']}" for block in blocks)
    assert collections.Counter(block.page for block in blocks) == NUM_NOT_RUN, reasons
    assert all(block.marks["not run"] for block in blocks), reasons


def test_pictures_show_the_commands_above_them() -> None:
    commands = read_commands()
    assert len(commands) == 4
    for name, command in commands.items():
        drawn = (CHECKOUT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        text = "".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawn)).replace("&#160;", " ")
        shown = re.sub(r"\s", "", text.partition("$ ")[2])
        assert shown.startswith(re.sub(r"\s", "", command)), "python -m examples.pictures draws it"
