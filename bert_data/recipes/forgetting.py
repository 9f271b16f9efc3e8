"""Take documents out of the stores that a recipe names, and name the new ones in a new recipe.

    stores: {wiki: data/wiki@8, web: "web/*", books: data/books}
      ->    {wiki: clean/wiki@8, web: "clean/web/*", books: data/books}

A store that has none of the documents stays the recipe's; those of a pattern get a folder of the
store's name. All else of the file stays as its author
wrote it, with comments.
"""

import os
from collections import Counter

from bert_data.errors import named_in_errors
from bert_data.recipes.recipe import Recipe
from bert_data.storage import read_bytes, read_ids
from bert_data.tokens.forgetting import (
    ForgetConfig,
    Forgotten,
    StoresLeft,
    open_stores,
    report_ids,
    write_without,
)
from bert_data.tokens.store_files import PARTITIONED, expand_store, expand_stores
from bert_data.yaml_files import replace_texts


def forget_in_recipe(config: ForgetConfig) -> Forgotten:
    """Write the stores of a recipe without some documents, and the recipe that reads them.

    Raises:
      ValueError: a store does not say where its documents came from, none has one of them, or two
        would have the same name.
    """
    path, prefix = os.fspath(config.recipe or ""), config.output_prefix
    stores = Recipe.from_file(path).stores
    ids, found = read_ids(config.documents), set[str]()
    every, groups, renamed = list[str](), list[StoresLeft](), dict[str, str]()
    for store in dict.fromkeys(stores.values()):
        prefixes = expand_stores([store])
        every += prefixes
        is_pattern = store not in prefixes and not PARTITIONED.fullmatch(store)
        name = next(name for name, each in stores.items() if each == store)
        place = f"{prefix}{name}/" if is_pattern else prefix
        targets = [place + os.path.basename(each) for each in prefixes]
        left = StoresLeft(open_stores(prefixes, ids, found), targets)
        if left.num_forgotten:
            groups.append(left)
            renamed[store] = place + os.path.basename(store)
            others = set(expand_store(renamed[store])) - {renamed[store], *targets}
            if others:
                raise ValueError(
                    f"{path}: {renamed[store]} would also be {min(others)}, which is there; choose"
                    " another output_prefix"
                )
    report_ids(config, every, found)
    names = Counter(target for group in groups for target in group.targets)
    name, number = names.most_common(1)[0]
    if number > 1:
        raise ValueError(f"{path}: two of its stores would be {name}; forget them one at a time")
    with named_in_errors(path):
        text = replace_texts(read_bytes(path), "stores", renamed)
    return write_without(config, groups, found, {prefix + os.path.basename(path): text})
