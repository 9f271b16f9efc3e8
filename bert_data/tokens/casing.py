"""Whether text is lower-cased for a vocabulary: yes, as in Google's programs, if nothing objects.

    vocab.txt with The, Paris, ##A        tokens that lower-cased text never has
    tokenizer_config.json beside it       {"do_lower_case": false}
    cased_L-12_H-768_A-12/vocab.txt       a released model, by its name

Each of these refuses the default. What the caller says decides.
"""

import os
from collections.abc import Iterator, Sequence

from absl import logging

from bert_data.storage import exists, is_folder, read_object
from bert_data.tokens.definition import is_released_uncased
from bert_data.tokens.hugging_face_files import TOKENIZER_CONFIG
from bert_data.tokens.vocabulary import TokenTable

_MOST_STRAY = 0.001
"""Of an uncased vocabulary: words that a user has added, letters of a newer Unicode."""
_NUM_NAMED = 3


def decide_case(
    vocabulary: TokenTable, do_lower_case: bool | None, model_files: Sequence[str] = ()
) -> bool:
    """Return whether text is lower-cased and loses its accents.

    Args:
      do_lower_case: what the caller says; None: nothing.
      model_files: files or folders of the model that the vocabulary is of.

    Raises:
      ValueError: the caller says nothing, and true is probably wrong.
    """
    if do_lower_case is None:
        do_lower_case = vocabulary.do_lower_case
    if do_lower_case is not None:
        return do_lower_case
    reason = next(_reasons_to_keep_case(vocabulary, model_files), None)
    if reason is not None:
        raise ValueError(
            f"{reason}: set `do_lower_case=False` to keep case and accents, or"
            " `do_lower_case=True` to lower-case the text nevertheless"
        )
    if vocabulary.cased_tokens:
        logging.warning("%s", describe_cased(vocabulary))
    return True


def is_cased(vocabulary: TokenTable) -> bool:
    """Whether more tokens need case and accents than stray ones."""
    return len(vocabulary.cased_tokens) > _MOST_STRAY * vocabulary.size


def describe_cased(vocabulary: TokenTable) -> str:
    """Return a clause about the tokens that need case and accents, of which there are some."""
    cased = vocabulary.cased_tokens
    return (
        f"{len(cased):,} of the {vocabulary.size:,} tokens of {vocabulary.path}, such as"
        f" {', '.join(cased[:_NUM_NAMED])}, cannot occur in text that is lower-cased and loses its"
        " accents"
    )


def _reasons_to_keep_case(vocabulary: TokenTable, model_files: Sequence[str]) -> Iterator[str]:
    if is_cased(vocabulary):
        yield describe_cased(vocabulary)
    for path in (vocabulary.path, *model_files):
        for name in path.split("/")[-2:]:
            if is_released_uncased(name) is False:
                yield f"{name} is the name of a cased model"
    own = f"{os.path.splitext(vocabulary.path)[0]}.{TOKENIZER_CONFIG}"
    folders = [os.path.dirname(vocabulary.path), *map(_folder_of, model_files)]
    beside = [os.path.join(folder, TOKENIZER_CONFIG) for folder in folders]
    for path in filter(exists, [own] if exists(own) else beside):
        if read_object(path).get("do_lower_case") is False:
            yield f"{path} says that text keeps its case, though {vocabulary.path} looks uncased"


def _folder_of(path: str) -> str:
    return path if is_folder(path) else os.path.dirname(path)
