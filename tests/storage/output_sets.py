"""A set of files as tests write it, and what they find in its folder."""

from pathlib import Path

from bert_data.storage import OutputSet


def contents(folder: Path) -> dict[str, bytes | None]:
    """All files with their bytes, and folders with None; hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def write_set(folder: Path, text: str, *, overwrite: bool = False, names: str = "ab") -> None:
    """Writes one file for each letter, then m, which says what all are."""
    paths = [str(folder / name) for name in (*names, "m")]
    with OutputSet(paths[0], paths, reads=[], overwrite=overwrite) as outputs:
        for path in paths:
            with outputs.open(path) as file:
                file.write(text.encode())
        outputs.commit(paths[:-1], paths[-1:])
