"""Papers in archives of sources: how they are packed, how files are joined, what is wrong."""

import functools
import gzip
import zipfile

import pytest

from bert_data.errors import CorruptDataError
from bert_data.text.corpora import arxiv
from bert_data.text.formats import find_text_format
from tests.text.corpora.corpus_files import read_blocks, tar

COVERS = ("text/corpora/archives",)

ONE = b"\\documentclass{a}\\title{One}\\begin{document}\\section{A} One. % no\n\\end{document}"
MAIN = (
    b"\\documentclass{a}\n\\input macros\n\\begin{document}\n%\\input{secret}\n"
    b"\\include{parts/first}\\input{parts/second.tex}\\input{missing}\n\\end{document}"
)
FILES = {
    "main.tex": MAIN,
    "macros.tex": b"\\newcommand{\\us}{we}",
    "parts/first.tex": b"\\section{First} Here \\us{} are.\n",
    "parts/second.tex": "\\section{Zweiter} Über".encode("latin-1"),
    "secret.tex": b"\\section{Secret}",
    "figure.pdf": b"%PDF",
}


JOINED = "\\section{First} Here we are.\n\\section{Zweiter} Über\\input{missing}"
PAPERS = {
    "2401/2401.00001.gz": gzip.compress(ONE),
    "2401/2401.00002.gz": gzip.compress(tar(FILES)),
    "2401/2401.00003.pdf": b"%PDF",
    "2401/hep-th9901001.tar.gz": gzip.compress(tar({"b.tex": b"Two.", "a.tex": b"\\section{A}"})),
    "2401/2401.00004.gz": gzip.compress(b"%PDF no TeX"),
}


read = functools.partial(read_blocks, input_format="arxiv")


def test_an_archive_of_papers(tmp_path):
    path = tmp_path / "arXiv_src_2401_001.tar"
    path.write_bytes(tar(PAPERS))
    (block,) = read(path)
    assert [(document.row, document.text) for document in block.documents] == [
        (1, "\\section{A} One."),
        (2, JOINED),
        (3, "\\section{A}\nTwo."),
    ]
    assert [document.fields for document in block.documents] == [
        {"arxiv_id": "2401.00001", "num_files": 1, "title": "One"},
        {"arxiv_id": "2401.00002", "num_files": 5},
        {"arxiv_id": "hep-th9901001", "num_files": 2},
    ]
    assert block.num_rows == 4 and block.num_file_bytes == path.stat().st_size


@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
def test_an_archive_that_is_a_paper(tmp_path, ending):
    path = tmp_path / f"paper{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in FILES.items():
                archive.writestr(name, data)
    else:
        path.write_bytes(gzip.compress(tar(FILES)))
    (block,) = read(path)
    assert [document.text for document in block.documents] == [JOINED]
    assert block.documents[0].fields["arxiv_id"] == "paper"


def test_titles_are_expanded_and_macros_that_stay_are_counted(tmp_path):
    path = tmp_path / "a.tex"
    preamble = r"\documentclass{a}\newcommand{\x}{Lakes}\def\y{\y}\title{On \x}"
    path.write_text(preamble + r"\begin{document}\section{A}\y\y")
    (block,) = read(path)
    assert block.documents[0].fields["title"] == "On Lakes"
    assert block.left_out == {"expansions of LaTeX macros": 2}


def test_a_file_with_what_it_inputs(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    outside = tmp_path.parent / "outside.tex"
    outside.write_text("\\section{Outside}")
    path = tmp_path / "main.tex"
    assert find_text_format([str(path)]).name == "arxiv"
    assert read(path)[0].documents[0].text == JOINED
    path.write_bytes(MAIN.replace(b"missing", b"../outside"))
    assert "Outside" not in read(path)[0].documents[0].text
    path.write_bytes(MAIN.replace(b"missing", str(outside).encode()))
    assert "{Outside}" not in read(path)[0].documents[0].text


def test_damaged_papers_are_rows(tmp_path):
    path = tmp_path / "a.tar"
    whole = gzip.compress(tar(FILES))
    path.write_bytes(tar({"1.gz": whole[:-9], "2.gz": b"no gzip", "3.gz": gzip.compress(ONE)}))
    with pytest.raises(ValueError, match=r"a\.tar:1: 1: the paper's archive is damaged"):
        read(path)
    (block,) = read(path, on_error="skip")
    assert [document.row for document in block.documents] == [3]
    assert len(block.skipped) == 2


def test_damaged_archives(tmp_path):
    path = tmp_path / "a.tar"
    whole = tar(PAPERS)
    for data, reason in [
        (whole[:700], "a file in the archive is damaged|not a tar archive, or damaged"),
        (whole[:-9000], "cut off|damaged"),
        (whole[: -(-len(whole.rstrip(b"\0")) // 512) * 512], "the archive is cut off"),
        (b"no archive" * 100, "not a tar archive, or damaged"),
    ]:
        path.write_bytes(data)
        with pytest.raises(CorruptDataError, match=reason):
            read(path)
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04" + b"x" * 100)
    with pytest.raises(CorruptDataError, match="not a zip archive, or damaged"):
        read(path)


def test_files_that_input_each_other_are_read_once(tmp_path):
    files = {
        "a.tex": b"\\documentclass{a}\\begin{document}One.\\input{b}Four.\\end{document}",
        "b.tex": b"Two.\\input{./a.tex}\\input{b}Three.",
    }
    (tmp_path / "a.tar").write_bytes(tar({"1.gz": gzip.compress(tar(files))}))
    ((document,),) = (block.documents for block in read(tmp_path / "a.tar"))
    assert document.text.split() == ["One.Two.Three.Four."]


def test_nothing_outside_the_folder_is_read(tmp_path):
    (tmp_path / "secret.tex").write_text("Secret.")
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "link.tex").symlink_to(tmp_path / "secret.tex")
    (folder / "near.tex").write_text("Near.")
    (folder / "other.tex").symlink_to(folder / "near.tex")
    secret = tmp_path / "secret"
    (folder / "a.tex").write_text(
        rf"\documentclass{{a}}A.\input{{link}}\input{{../secret}}\input{{{secret}}}\input{{other}}"
    )
    ((document,),) = (block.documents for block in read(folder / "a.tex"))
    assert "Secret" not in document.text and "Near." in document.text


def test_inputs_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(arxiv, "MAX_PAPER_BYTES", 20_000)
    path = tmp_path / "a.tar"
    files = {f"{n}.tex": b"\\section{A}" + b"\\input{%d}" % (n + 1) * 9 for n in range(9)}
    files["0.tex"] += b"\\documentclass{a}"
    path.write_bytes(tar({"1.gz": gzip.compress(tar(files))}))
    with pytest.raises(ValueError, match="its files, joined, have more than 20,000 bytes"):
        read(path)
    for files in ({"a.tex": b"a" * 40_000}, {"a.tex": b"a" * 15_000, "b.tex": b"b" * 15_000}):
        path.write_bytes(tar({"1.gz": gzip.compress(tar(files))}))
        with pytest.raises(ValueError, match="a paper has more than 20,000 bytes"):
            read(path)
