"""Names that packages import when they are first used."""

import collections.abc
import sys

import pytest

from bert_data.lazy_names import import_on_use


def test_a_module_is_imported_with_its_first_name() -> None:
    import_name = import_on_use("json", {"tool": "main", "decoder": "JSONDecoder scanstring"})
    sys.modules.pop("json.tool", None)
    assert import_name("scanstring").__name__ == "scanstring"
    assert "json.tool" not in sys.modules
    assert import_name("main").__module__ == "json.tool"


def test_other_names_are_not_there() -> None:
    import_name = import_on_use("collections", {"abc": "Mapping"})
    assert import_name("Mapping") is collections.abc.Mapping
    with pytest.raises(AttributeError, match=r"^module 'collections' has no attribute 'Sequence'$"):
        import_name("Sequence")
