"""Names of token stores: a prefix, a file, PREFIX@N, a pattern."""

import pytest

from bert_data.tokens.store_files import are_store_names, expand_store, expand_stores, is_store_name


@pytest.fixture
def folder(tmp_path):
    names = ("web-00000-of-00002", "web-00001-of-00002", "one", "odd@2")
    for name in names:
        for ending in (".bin", ".idx", ".store.json"):
            (tmp_path / f"{name}{ending}").touch()
    (tmp_path / "text").mkdir()
    for name in ("a.txt", "b.bin", "b.idx"):
        (tmp_path / "text" / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one", ["one"]),
        ("one.bin", ["one"]),
        ("one.idx", ["one"]),
        ("web@2", ["web-00000-of-00002", "web-00001-of-00002"]),
        ("web*", ["web-00000-of-00002", "web-00001-of-00002"]),
        ("web-?????-of-*.bin", ["web-00000-of-00002", "web-00001-of-00002"]),
        ("odd@2", ["odd@2"]),
        ("new", ["new"]),
        ("new@2", ["new-00000-of-00002", "new-00001-of-00002"]),
    ],
)
def test_expand_store(folder, name, expected):
    assert expand_store(f"{folder}/{name}") == [f"{folder}/{each}" for each in expected]


def test_names_keep_their_order(folder):
    names = [f"{folder}/{name}" for name in ("web@2", "one")]
    expected = ["web-00000-of-00002", "web-00001-of-00002", "one"]
    assert expand_stores(names) == [f"{folder}/{each}" for each in expected]


def test_a_set_of_another_number_is_named(folder):
    with pytest.raises(ValueError, match=r"no file matches '.*/web@3', but there is '.*/web@2'"):
        expand_stores(["one", f"{folder}/web@3"])
    assert expand_stores(["new"]) == ["new"]  # an error of who opens it


def test_numbers_of_partitions_that_cannot_be():
    with pytest.raises(ValueError, match="asks for 0 shards"):
        expand_store("web@0")


@pytest.mark.parametrize(
    ("names", "are_stores"),
    [
        (["one", "one.bin", "none.idx", "web@2", "web*", "text/b*"], True),
        (["new", "new@2", "text/*", "text/a*", "text/a.txt"], False),
    ],
)
def test_is_store_name(folder, names, are_stores):
    assert {is_store_name(f"{folder}/{name}") for name in names} == {are_stores}
    assert not is_store_name("")


def test_stores_and_other_files_do_not_mix(folder):
    one, text, new = (f"{folder}/{name}" for name in ("one", "text/a.txt", "new"))
    assert are_store_names([one, f"{folder}/web*"]) and not are_store_names([text, new])
    for names, other in (([one, text], text), ([new, one, text], new)):
        with pytest.raises(ValueError, match=f"'{one}' names token stores, but '{other}' does not"):
            are_store_names(names)
