"""What the comments of a page say of its blocks, and how outputs are compared."""

from pathlib import Path

import pytest

from tests.docs.blocks import Block, as_pattern, read_blocks

PAGE = """Text.

<!-- inputs: a.txt -->
<!-- smaller: steps=1000 => steps=2 -->
```sh
run --steps=1000
```

```
step 1000
```

<!-- a remark
of two lines --> Text.

<!-- output: numbers vary -->
```text
done
```

- An item:

  <!-- file: a.yaml -->
  ```yaml
  a:
    - 1
  ```
"""


def read(folder: Path, text: str) -> list[Block]:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return read_blocks(path, "page.md")


def test_the_blocks_of_a_page(tmp_path: Path) -> None:
    blocks = read(tmp_path, PAGE)
    assert [block.role for block in blocks] == ["sh", "output", "output", "file"]
    assert [block.line for block in blocks] == [5, 9, 17, 24]
    assert blocks[0].code == "run --steps=2\n" and blocks[0].marks["inputs"] == "a.txt"
    assert blocks[2].marks == {"output": "numbers vary"}
    assert blocks[3].code == "a:\n  - 1\n"


@pytest.mark.parametrize("language", ["", "text", "yaml", "json"])
def test_a_block_that_nothing_says_what_it_is(tmp_path: Path, language: str) -> None:
    with pytest.raises(ValueError, match=r"page\.md, line 3: a comment above it has to say"):
        read(tmp_path, f"Text.\n\n```{language}\na\n```\n")


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("not_run: why", "not_run"),
        ("runs", "runs"),
        ("smaller: x => y", "'x', which is to be smaller, is not in it"),
    ],
)
def test_marks_that_mean_nothing(tmp_path: Path, mark: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, f"<!-- {mark} -->\n```sh\na\n```\n")


@pytest.mark.parametrize(
    ("shown", "printed", "numbers_vary", "is_found"),
    [
        ("b\nc\n", "a\nb\nc\nd\n", False, True),
        ("b\nd\n", "a\nb\nc\nd\n", False, False),
        ("b\n...\nd\n", "a\nb\nc\nd\n", False, True),
        ("b\n...\nc\n", "a\nb\nc\nd\n", False, True),
        ("b ... 3\n", "b 1 2 3\n", False, True),
        ("b\n", "ab\n", False, False),
        ("b\n", "bc\n", False, False),
        ("(1.5)  a 2,000 kB\n", "(20)   a 1.25 MB\n", False, False),
        ("(1.5)  a 2,000 kB\n", "(20)   a 1.25 MB\n", True, True),
        ("(1.5)  a 2,000 kB\n", "(20)   b 1.25 MB\n", True, False),
    ],
)
def test_outputs(shown: str, printed: str, numbers_vary: bool, is_found: bool) -> None:
    assert bool(as_pattern(shown, numbers_vary).search(printed)) == is_found
