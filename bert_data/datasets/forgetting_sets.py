"""Take documents out of sets of records and GPT samples: make the sets again without them.

    made of text                 --create_dataset, which leaves the documents out--> the new set
    made of stores --write_without--> stores beside the new set --create_dataset, export_splits-->

Every random draw depends on what came before, so all records after a document are others: this is
the whole run again, by the settings that the manifest has. The lists of documents beside the shards
(or the manifest, of samples) say what the set was made of; see `record_origins`.
"""

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, NotRequired, TypedDict

from bert_data.causal import GptConfig, build_datasets
from bert_data.datasets.corpus import check_stores, find_corpus
from bert_data.datasets.dataset_config import DatasetConfig, describe_set
from bert_data.datasets.manifest import (
    FORMAT,
    SAMPLES_FORMAT,
    Manifest,
    documents_path,
    list_manifests,
    listed_shards,
    manifest_path,
    parse_manifest,
)
from bert_data.datasets.masked_lm import create_dataset
from bert_data.datasets.record_origins import Forgetting, read_documents
from bert_data.datasets.sample_set import SampleExportConfig, describe_request, export_splits
from bert_data.errors import CorruptDataError
from bert_data.formats.registry import find_format
from bert_data.objectives.making import InstanceConfig
from bert_data.progress import how_many
from bert_data.schema.fields import LABELLED
from bert_data.settings import settings_of
from bert_data.storage import (
    exists,
    expand_outputs,
    find_files,
    read_bytes,
    read_ids,
    read_json,
    read_object,
    real_path,
    refuse_existing,
    refuse_inputs,
    remove_left_overs,
)
from bert_data.text.documents import TextConfig
from bert_data.tokens.forgetting_stores import (
    ForgetConfig,
    Forgotten,
    StoreLeft,
    find_in_stores,
    open_stores,
    report_ids,
    write_without,
)
from bert_data.tokens.store import open_store
from bert_data.tokens.store_files import (
    NUM_FORGOTTEN,
    check_files,
    expand_stores,
    index_sums,
    read_notes,
)
from bert_data.tokens.tokenizer_file import vocabulary_of

_FORMATS = (FORMAT, SAMPLES_FORMAT)
_OF_PARTITION = re.compile(r"-\d{5}-of-(\d{5})\Z")


class _Request(TypedDict):
    input: list[str]
    num_samples: list[int] | None
    num_epochs: int | None
    stores: dict[str, int | None]


class _Samples(TypedDict):
    output_format: str
    split_name: str
    weights: NotRequired[list[float] | None]
    request: NotRequired[_Request]


class EarlierSet(NamedTuple):
    """A set that documents are to leave: its manifest, and its shards in their order."""

    manifest: str
    shards: Sequence[str]

    def refuse(self, reason: str) -> ValueError:
        """Return the error for a set that cannot be made again from what it says."""
        return ValueError(
            f"{self.manifest}: {reason}; take the documents out of what the set was made of, and"
            " run the command that made it again"
        )


def find_set(names: str) -> EarlierSet | None:
    """Find the set that some names of shards stand for, or None if they are no whole one."""
    paths = [path for name in names.split(",") for path in find_files(name)]
    for manifest in list_manifests(os.path.dirname(paths[0]), _FORMATS) if paths else ():
        shards = listed_shards(manifest)
        if sorted(shards) == sorted(paths):
            return EarlierSet(manifest, shards)
    return None


def forget_in_set(config: ForgetConfig, earlier: EarlierSet) -> Forgotten:
    """Write a set of records or samples without some documents, and the stores that it is made of.

    Each appears whole, or not at all; the stores first.

    Raises:
      ValueError: the set does not say what it was made of, that has changed, or it has none of the
        documents.
    """
    names, num_shards = expand_outputs(config.output_prefix), len(earlier.shards)
    if num_shards != len(names.paths):
        raise ValueError(
            f"{config.input_file} has {how_many(num_shards, 'shard')}, but output_prefix"
            f" {config.output_prefix!r} names {len(names.paths)}; name as many (PATH@{num_shards})"
        )
    outputs = [*names.paths, manifest_path(names.name)]
    refuse_inputs(outputs, [*earlier.shards, config.documents])
    remove_left_overs(names.name)
    refuse_existing(outputs, overwrite=config.overwrite)
    is_of_samples = read_object(earlier.manifest)["format"] == SAMPLES_FORMAT
    done = (_forget_samples if is_of_samples else _forget_records)(config, earlier)
    return done._replace(prefixes=[*done.prefixes, *names.paths])


def _forget_records(config: ForgetConfig, earlier: EarlierSet) -> Forgotten:
    manifest = parse_manifest(read_bytes(earlier.manifest), earlier.manifest)
    if manifest.record_layout == LABELLED:
        raise earlier.refuse("labelled texts, which have no ids")
    if "recipe" in manifest.flags:
        raise earlier.refuse("records of a recipe (`recipe` takes documents out of its stores)")
    num_streams = manifest.flags.get("num_partitions", 1)
    lists = [*filter(exists, map(documents_path, earlier.shards[:num_streams]))]
    settings = _dataset_config(config, earlier, manifest, has_lists=bool(lists))
    made_of = list(_stores_of(lists))
    if config.made_from is None and not made_of:
        raise ValueError(
            f"{config.input_file} does not say where its documents are; `made_from` names the text"
            " or the token stores that it was made of"
        )
    if config.made_from and not find_corpus(config.made_from, settings.text).stores:
        if not lists or made_of or num_streams > 1 or manifest.flags.get("num_partitions"):
            raise earlier.refuse(_why_not_of_text(lists, made_of))
        settings = dataclasses.replace(settings, input_file=config.made_from)
        return _forget_in_text(config, settings, lists[0])
    names = config.made_from.split(",") if config.made_from else _names_of([*dict(made_of)])
    if config.made_from is None and len(lists) > 1 and len(names) > 1:
        raise ValueError(
            f"{config.input_file} has partitions, which do not tell the order of its stores"
            f" ({', '.join(names)}); name them by `made_from`"
        )
    tokenizer = settings.load_tokenizer(settings.special_tokens)
    do_lower_case, vocabulary = tokenizer.do_lower_case, vocabulary_of(tokenizer)
    check_stores(expand_stores(names), vocabulary, do_lower_case=do_lower_case)
    num_tokens = manifest.counts.get("text", {}).get("num_tokens", 0)
    stores = _StoresOfSet(config, earlier, names, dict(made_of), num_tokens)
    done = stores.forget()
    input_file = ",".join(stores.new_names)
    create_dataset(dataclasses.replace(settings, input_file=input_file))
    return done


def _why_not_of_text(lists: Sequence[str], made_of: object) -> str:
    if made_of:
        return "made of token stores, and `made_from` names none"
    if not lists:
        return "no list beside it (origins) says which documents it has"
    return "its partitions are cut by the bytes of the text"


def _forget_in_text(config: ForgetConfig, settings: DatasetConfig, listed: str) -> Forgotten:
    ids, found = read_ids(config.documents), set[str]()
    num_documents = num_forgotten = 0
    for _, document in read_documents(listed):
        num_documents += 1
        if document.id in ids:
            found.add(document.id)
            num_forgotten += 1
    report_ids(config, [str(config.input_file)], found)
    create_dataset(settings, Forgetting(ids, listed))
    return Forgotten([], num_documents, num_forgotten, len(found))


def _stores_of(lists: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """Yield the stores that lists of documents name, and the CRC-32 of the .idx of each."""
    for path in lists:
        for _, document in read_documents(path):
            if document.store is None:
                return
            yield document.store, document.crc32


def _names_of(prefixes: Sequence[str]) -> list[str]:
    """Return names of stores: PREFIX@N for all partitions of one text."""
    names = list[str]()
    for prefix in prefixes:
        match = _OF_PARTITION.search(prefix)
        whole = f"{prefix[: match.start()]}@{int(match[1])}" if match else prefix
        is_whole = match and set(expand_outputs(whole).paths) <= {*prefixes}
        names.append(whole if is_whole else prefix)
    return list(dict.fromkeys(names))


class _StoresOfSet:
    """The stores that a set was made of, and those that take their place.

    Attributes:
      new_names: of the stores that the new set is made of.
    """

    def __init__(
        self,
        config: ForgetConfig,
        earlier: EarlierSet,
        names: Sequence[str],
        known: Mapping[str, int | None],
        known_tokens: int | None = None,
    ) -> None:
        """Find the documents in stores.

        Args:
          known: the CRC-32 of the .idx of each store that the set was made of; {}: it does not say.
          known_tokens: of all of them.
        """
        self._config, self._found = config, set[str]()
        place = os.path.join(os.path.dirname(expand_outputs(config.output_prefix).name), "")
        prefixes = self._prefixes = expand_stores(names)
        called = {f"stores-{number}": name for number, name in enumerate(names, 1)}
        self._groups, renamed = find_in_stores(called, config, place, self._found)
        num_tokens = sum(open_store(prefix).ids.size for prefix in prefixes)
        is_same = not known or set(index_sums(prefixes).values()) == set(known.values())
        is_same = is_same and known_tokens in (None, num_tokens)
        is_without = config.made_from is not None and not self._found
        has_less = known_tokens is None or num_tokens < known_tokens
        if not (is_same or (is_without and has_less)):
            raise earlier.refuse(
                f"{', '.join(names)}: not the token stores that the set was made of, as they were"
            )
        if self._found or is_same:
            report_ids(config, [str(config.input_file)], self._found)
        for each, target in (pair for group in self._groups for pair in zip(*group, strict=True)):
            if real_path(target) == real_path(each.prefix):
                raise ValueError(
                    f"output_prefix is {config.output_prefix!r}, in whose folder the new"
                    f" {os.path.basename(target)} would replace the store that has the documents;"
                    " choose another folder"
                )
        self.new_names = [renamed.get(name, name) for name in names]

    def forget(self) -> Forgotten:
        """Write the new stores, unless an earlier run has done so."""
        config = self._config
        prefixes: Sequence[str] = ()
        num_documents = sum(open_store(each).num_documents for each in self._prefixes)
        num_forgotten = sum(group.num_forgotten for group in self._groups)
        ids = read_ids(config.documents)
        groups = [
            group
            for group in self._groups
            if config.overwrite
            or not all(_is_there(ids, *pair) for pair in zip(*group, strict=True))
        ]
        if groups:
            name = expand_outputs(config.output_prefix).name
            own = dataclasses.replace(config, output_prefix=name)
            prefixes = write_without(own, groups, self._found).prefixes
        return Forgotten(prefixes, num_documents, num_forgotten, len(self._found))


def _is_there(ids: Set[str], opened: StoreLeft, target: str) -> bool:
    """Whether a store is there without some documents, as an earlier run has made it."""
    notes = read_notes(target) if exists(f"{target}.idx") else None
    if notes is None:
        return False
    check_files(target, notes, side_files=True)
    left = open_stores([target], ids, found := set[str]())[0]
    num_taken = opened.taken.size + opened.notes.counts.get(NUM_FORGOTTEN, 0)
    return (
        not found
        and notes.settings == opened.notes.settings
        and notes.counts.get(NUM_FORGOTTEN) == num_taken
        and left.store.num_documents == opened.store.num_documents - opened.taken.size
    )


def _dataset_config(
    config: ForgetConfig, earlier: EarlierSet, manifest: Manifest, *, has_lists: bool
) -> DatasetConfig:
    """Return the configuration that made a set, but for its input."""
    told = {**vars(manifest), **manifest.flags}

    def known(kind: type) -> dict[str, Any]:
        return {name: told[name] for name in settings_of(kind) if name in told}

    own = find_format(manifest.output_format).compression
    settings = DatasetConfig(
        **{
            **known(DatasetConfig),
            **({"compression": DatasetConfig.compression} if own else {}),
            "input_file": "",
            "output_file": config.output_prefix,
            "vocab_file": config.vocab_file,
            "tokenizer_file": config.tokenizer_file,
            "text": TextConfig(**known(TextConfig)),
            "instances": InstanceConfig(**known(InstanceConfig)),
            "no_provenance": not has_lists,
            "num_workers": config.num_workers,
            "overwrite": config.overwrite,
        }
    )
    tokenizer = settings.load_tokenizer(settings.special_tokens)
    vocabulary = vocabulary_of(tokenizer)
    if vocabulary.note != manifest.vocabulary:
        raise ValueError(
            f"{config.input_file} was made with another vocabulary ({manifest.vocabulary.size:,}"
            f" tokens, sha256 {manifest.vocabulary.sha256[:12]}) than {vocabulary.path}"
            f" ({vocabulary.size:,} tokens, sha256 {vocabulary.sha256[:12]})"
        )
    again = describe_set(settings, tokenizer, vocabulary)
    made_here = dataclasses.replace(again, counts=manifest.counts, files=manifest.files)
    if manifest != dataclasses.replace(made_here, created_by=manifest.created_by):
        raise earlier.refuse("it has settings that `create` does not have here")
    return settings


def _forget_samples(config: ForgetConfig, earlier: EarlierSet) -> Forgotten:
    told = read_json(earlier.manifest, _Samples)
    request = told.get("request")
    if request is None:
        raise earlier.refuse("it does not say what its samples were made of")
    settings = read_object(earlier.manifest)
    names = config.made_from.split(",") if config.made_from else request["input"]
    stores = _StoresOfSet(config, earlier, names, request["stores"])
    num_samples, num_epochs = request["num_samples"], request["num_epochs"]
    weights = settings.get("weights")  # whole numbers stay such
    fields = [field.name for field in dataclasses.fields(GptConfig) if field.name in settings]
    gpt = GptConfig(**{name: settings[name] for name in fields})
    export = SampleExportConfig(
        output_file=config.output_prefix,
        output_format=told["output_format"],
        overwrite=config.overwrite,
        num_workers=config.num_workers,
    )
    done, names = stores.forget(), stores.new_names
    built = build_datasets(
        names, gpt, weights=weights, num_samples=num_samples, num_epochs=num_epochs
    )
    datasets = [dataset for dataset in built if dataset is not None]
    chosen = [dataset for dataset in datasets if dataset.split == told["split_name"]]
    if not chosen:
        raise CorruptDataError(earlier.manifest, 0, f"asks for no split {told['split_name']!r}")
    export_splits(
        chosen,
        export,
        made_from={"input": names, "weights": weights},
        request=describe_request(names, num_samples, num_epochs, datasets),
    )
    return done
