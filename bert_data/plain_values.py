"""Plain values by their older place; new code calls `bert_data.settings.check_settings`."""

from bert_data.settings import check_settings as make_plain
from bert_data.settings import plain

__all__ = ["make_plain", "plain"]
