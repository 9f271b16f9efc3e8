"""Take documents out of the stores that a recipe names, and name the new ones in a new recipe.

    stores: {wiki: data/wiki@8, web: "web/*", books: data/books}
      ->    {wiki: clean/wiki@8, web: "clean/web/*", books: data/books}

A store that has none of the documents stays the recipe's; those of a pattern get a folder of the
store's name. All else of the file stays as its author
wrote it, with comments.
"""

import os

from bert_data.errors import named_in_errors
from bert_data.recipes.recipe import Recipe
from bert_data.storage import read_bytes
from bert_data.tokens.forgetting_stores import (
    ForgetConfig,
    Forgotten,
    find_in_stores,
    report_ids,
    write_without,
)
from bert_data.tokens.store_files import expand_stores
from bert_data.yaml_files import replace_texts


def forget_in_recipe(config: ForgetConfig) -> Forgotten:
    """Write the stores of a recipe without some documents, and the recipe that reads them.

    Raises:
      ValueError: a store does not say where its documents came from, none has one of them, or two
        would have the same name.
    """
    path, prefix, found = os.fspath(config.recipe or ""), config.output_prefix, set[str]()
    stores = Recipe.from_file(path).stores
    with named_in_errors(path):
        groups, renamed = find_in_stores(stores, config, prefix, found)
    report_ids(config, expand_stores(dict.fromkeys(stores.values())), found)
    with named_in_errors(path):
        text = replace_texts(read_bytes(path), "stores", renamed)
    return write_without(config, groups, found, {prefix + os.path.basename(path): text})
