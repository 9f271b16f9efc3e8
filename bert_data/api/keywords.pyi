"""Keyword arguments of functions, for type checkers; docs/keywords.py writes this."""

import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from bert_data.work import Engine

Path = str | os.PathLike[str]

class TextOptions(TypedDict, total=False):
    document_end: Literal["file", "blank_line", "heading"] | None
    encoding_errors: Literal["strict", "replace", "ignore"]
    input_format: str
    keep_fields: bool
    language: str
    max_row_bytes: int | None
    on_error: Literal["strict", "skip"]
    rows: Literal["documents", "lines", "wikitext"] | None
    templates_file: Path | None
    text_field: str
    text_template: str | None

class EngineOptions(TypedDict, total=False):
    engine: Engine | Literal["local", "ray", "slurm"]
    ray_address: str | None
    slurm_options: str
    tasks_per_job: int

class TokensOptions(TypedDict, total=False):
    max_memory_mb: int
    special_tokens_in_text: Literal["token", "text", "refuse"]
    strict_without: bool
    tokenizer_backend: Literal["auto", "wordpiece", "fastokens", "sentencepiece", "tokenizers"]
    without_documents: Path | None
    words: Literal["pieces", "spaces", "jieba"]

class StoreOptions(TypedDict, total=False):
    append_eod: bool
    bos_token: str | None
    date_field: str
    eod_token: str | None
    license_field: str
    prepend_bos: bool
    provenance: bool
    source_field: str
    store_rules: Literal["megatron", "curator"]
    url_field: str

class ReadingOptions(TypedDict, total=False):
    drop_remainder: bool
    feature_names: Literal["google", "tfhub"]
    form: Literal["features", "supervised", "fit"]
    host_index: int
    max_predictions_per_seq: int | None
    max_seq_length: int | None
    max_tokens_per_batch: int | None
    num_buckets: int
    num_epochs: int | None
    num_hosts: int
    pool_batches: int
    remote_cache_bytes: int
    rows_multiple: int
    shuffle_buffer: int
    skip_corrupt: bool
    start_batch: int
    width: str | tuple[int, ...]

class TrainVocabOptions(TextOptions, EngineOptions, total=False):
    max_characters: int
    max_words: int
    min_frequency: int
    num_workers: int

class CreateRecordsOptions(TextOptions, EngineOptions, TokensOptions, total=False):
    compression: Literal["none", "gzip"]
    do_whole_word_mask: bool
    dupe_factor: int
    favor_shorter_ngrams: bool
    feature_names: Literal["google", "v2"]
    id_field: str
    masked_lm_prob: float
    masking: Literal["tokens", "ngrams", "spans"]
    max_ngram: int
    max_predictions_per_seq: int
    max_seq_length: int
    next_sentence: Literal["nsp", "sop", "none"]
    num_examples: int
    num_partitions: int
    num_workers: int
    output_format: Literal["tfrecord", "parquet"]
    random_seed: int
    record_layout: Literal["ragged", "reference"]
    short_seq_prob: float
    special_tokens: Mapping[str, str]
    work_dir: Path | None

class TokenizeOptions(TextOptions, EngineOptions, TokensOptions, StoreOptions, total=False):
    files_per_partition: int
    id_field: str
    num_partitions: int
    num_workers: int

class ReadBatchesOptions(ReadingOptions, total=False):
    input_context: Any
    next_sentence: Literal["nsp", "sop", "none"] | None
    seed: int
    vocab_file: Path | None
    vocab_size: int | None

class IterateArraysOptions(ReadingOptions, total=False):
    next_sentence: Literal["nsp", "sop", "none"] | None
    seed: int
    vocab_file: Path | None
    vocab_size: int | None

class BuildSamplesOptions(TypedDict, total=False):
    add_extra_token_to_sequence: bool
    cache_dir: Path | None
    drop_last_partial_validation_sequence: bool
    eod_id: int | None
    eod_mask_loss: bool
    reset_attention_mask: bool
    reset_position_ids: bool
    seed: int
    split: str
    verify: bool

class CurateOptions(TextOptions, EngineOptions, TokensOptions, StoreOptions, total=False):
    count_words: bool
    do_lower_case: bool | None
    ledger: Literal["rejected", "all"]
    level: Literal["document", "sentence"]
    max_document_bytes: int
    output_format: Literal["auto", "lines", "jsonl", "parquet", "store"]
    shard_mb: float
    split_sentences: bool
    tokenizer_file: Path | None
    vocab_file: Path | None
    warn_share: float
    with_examples: bool
    work_dir: Path | None

class TrainClassifierOptions(TextOptions, total=False):
    buckets: int
    dimension: int
    epochs: int
    held_out: float
    label_field: str | None
    learning_rate: float
    loss: Literal["softmax", "ova"]
    max_characters: int
    min_characters: int
    min_count: int
    seed: int
    word_ngrams: int

class TrainOptions(ReadingOptions, total=False):
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    allow_other_vocabulary: bool
    batching: Literal["auto", "stream", "plain", "pools", "buckets", "packed"]
    best_metric: Literal["masked_lm_loss", "masked_lm_accuracy", "loss"]
    clip_norm: float
    continue_from: Path | None
    continue_with: Literal["steps", "moments", "weights"]
    eval_every_steps: int | None
    init_checkpoint: Path | None
    iterations_per_loop: int
    jit_compile: bool
    keep_checkpoints: int
    log_every_steps: int
    mixed_precision: Literal["none", "bfloat16", "float16"]
    next_sentence: Literal["nsp", "sop", "none"]
    num_accumulation_steps: int
    num_schedule_steps: int | None
    optimizer: Literal["adamw", "lamb"]
    random_seed: int
    save_checkpoints_steps: int
    shuffle: bool
    use_older_checkpoint: bool
    vocab_file: Path | None
    weight_decay: float

class ExportHubOptions(TypedDict, total=False):
    allow_other_vocabulary: bool
    bert_config_file: Path | None
    do_lower_case: bool | None
    seq_length: int | None
    tokenizer: Literal["exact", "fast"]
    tokenizer_file: Path | None

class ExportHfOptions(TypedDict, total=False):
    allow_other_vocabulary: bool
    bert_config_file: Path | None
    do_lower_case: bool | None
    tokenizer_file: Path | None
