"""The summary of the tokenize command."""

from collections.abc import Iterator, Sequence

from bert_data.progress import size
from bert_data.tokens.store_making import MadeStore
from bert_data.tokens.verifying import VerifiedStore

_MAX_STORES_NAMED = 10


def describe_stores(stores: Sequence[MadeStore], seconds: float) -> str:
    """Return the summary of stores made from text in a number of seconds."""
    return "\n".join(_lines(stores, seconds))


def _lines(stores: Sequence[MadeStore], seconds: float) -> Iterator[str]:
    def total(name: str) -> int:
        return sum(store.notes.counts[name] for store in stores)

    settings = stores[0].notes.settings
    new_stores = [store for store in stores if store.is_new]
    num_left = len(stores) - len(new_stores)
    left = f", {num_left:,} of them there before" if num_left else ""
    num_files = len({each["name"] for store in stores for each in store.notes.inputs})
    yield f"{len(stores):,} token store(s) of {settings['level']}s, {settings['dtype']}{left}"
    yield _row("text", f"{num_files:,} file(s), {size(total('num_bytes'))}")
    yield _row("documents", f"{total('num_documents'):,} ({total('num_empty'):,} empty)")
    yield _row("sequences", f"{total('num_sentences'):,}")
    share = 100 * total("num_unknown") / max(1, total("num_tokens"))
    unknown = f"{total('num_unknown'):,} [UNK], {share:.1f}%"
    yield _row("tokens", f"{total('num_tokens'):,} ({unknown})")
    if total("num_skipped"):
        yield _row("skipped", f"{total('num_skipped'):,} rows without a text")
    if total("num_replaced"):
        yield _row("undecodable", f"{total('num_replaced'):,} places were replaced or ignored")
    if new_stores:
        num_bytes = sum(store.notes.counts["num_bytes"] for store in new_stores)
        yield _row("tokenize", f"{seconds:.2f} s, {num_bytes / 1e6 / seconds:.1f} MB/s")
    for store in stores[:_MAX_STORES_NAMED]:
        num_bytes = sum(file.num_bytes for file in store.notes.files)
        documents = store.notes.counts["num_documents"]
        how = "wrote" if store.is_new else "left"
        yield _row(how, f"{store.prefix}.bin, .idx  {documents:,} documents, {size(num_bytes)}")
    if len(stores) > _MAX_STORES_NAMED:
        num_bytes = sum(file.num_bytes for store in stores for file in store.notes.files)
        yield _row("", f"and so on: {size(num_bytes)} in all")


def describe_store(prefix: str, store: VerifiedStore) -> str:
    """Return a one-line description of a store."""
    checked = "checksums are right" if store.notes else "no checksums are noted"
    return (
        f"{prefix}: {store.num_documents:,} documents ({store.num_empty:,} empty),"
        f" {store.num_sequences:,} sequences, {store.num_tokens:,} tokens of {store.dtype}, largest"
        f" id {store.max_id:,}; {checked}"
    )


def _row(name: str, value: str) -> str:
    return f"  {name:<14} {value}"
