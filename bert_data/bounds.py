"""The checks of `bert_data.settings` by their older place; new code imports them from there."""

from bert_data.settings import MAX_INT32, check_bounds, check_choice, check_integer

__all__ = ["MAX_INT32", "check_bounds", "check_choice", "check_integer"]
