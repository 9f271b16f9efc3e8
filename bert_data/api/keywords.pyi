"""Keyword arguments of functions, for type checkers; docs/keywords.py writes this."""

import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from bert_data.work import Engine

Path = str | os.PathLike[str]

class TrainVocabOptions(TypedDict, total=False):
    document_end: Literal["file", "blank_line", "heading"] | None
    encoding_errors: Literal["strict", "replace", "ignore"]
    engine: Engine | Literal["local", "ray", "slurm"]
    input_format: str
    keep_fields: bool
    language: str
    max_characters: int
    max_row_bytes: int | None
    max_words: int
    min_frequency: int
    num_workers: int
    on_error: Literal["strict", "skip"]
    ray_address: str | None
    rows: Literal["documents", "lines", "wikitext"] | None
    slurm_options: str
    tasks_per_job: int
    templates_file: Path | None
    text_field: str
    text_template: str | None

class CreateRecordsOptions(TypedDict, total=False):
    compression: Literal["none", "gzip"]
    do_whole_word_mask: bool
    document_end: Literal["file", "blank_line", "heading"] | None
    dupe_factor: int
    encoding_errors: Literal["strict", "replace", "ignore"]
    engine: Engine | Literal["local", "ray", "slurm"]
    favor_shorter_ngrams: bool
    feature_names: Literal["google", "v2"]
    id_field: str
    input_format: str
    keep_fields: bool
    language: str
    masked_lm_prob: float
    masking: Literal["tokens", "ngrams", "spans"]
    max_memory_mb: int
    max_ngram: int
    max_predictions_per_seq: int
    max_row_bytes: int | None
    max_seq_length: int
    next_sentence: Literal["nsp", "sop", "none"]
    num_examples: int
    num_partitions: int
    num_workers: int
    on_error: Literal["strict", "skip"]
    output_format: Literal["tfrecord", "parquet"]
    random_seed: int
    ray_address: str | None
    record_layout: Literal["ragged", "reference"]
    rows: Literal["documents", "lines", "wikitext"] | None
    short_seq_prob: float
    slurm_options: str
    special_tokens: Mapping[str, str]
    special_tokens_in_text: Literal["token", "text", "refuse"]
    strict_without: bool
    tasks_per_job: int
    templates_file: Path | None
    text_field: str
    text_template: str | None
    tokenizer_backend: Literal["auto", "wordpiece", "fastokens", "sentencepiece", "tokenizers"]
    without_documents: Path | None
    words: Literal["pieces", "spaces", "jieba"]
    work_dir: Path | None

class TokenizeOptions(TypedDict, total=False):
    append_eod: bool
    bos_token: str | None
    date_field: str
    document_end: Literal["file", "blank_line", "heading"] | None
    encoding_errors: Literal["strict", "replace", "ignore"]
    engine: Engine | Literal["local", "ray", "slurm"]
    eod_token: str | None
    files_per_partition: int
    id_field: str
    input_format: str
    keep_fields: bool
    language: str
    license_field: str
    max_memory_mb: int
    max_row_bytes: int | None
    num_partitions: int
    num_workers: int
    on_error: Literal["strict", "skip"]
    prepend_bos: bool
    provenance: bool
    ray_address: str | None
    rows: Literal["documents", "lines", "wikitext"] | None
    slurm_options: str
    source_field: str
    special_tokens_in_text: Literal["token", "text", "refuse"]
    store_rules: Literal["megatron", "curator"]
    strict_without: bool
    tasks_per_job: int
    templates_file: Path | None
    text_field: str
    text_template: str | None
    tokenizer_backend: Literal["auto", "wordpiece", "fastokens", "sentencepiece", "tokenizers"]
    url_field: str
    without_documents: Path | None
    words: Literal["pieces", "spaces", "jieba"]

class ReadBatchesOptions(TypedDict, total=False):
    drop_remainder: bool
    feature_names: Literal["google", "tfhub"]
    form: Literal["features", "supervised", "fit"]
    host_index: int
    input_context: Any
    max_predictions_per_seq: int | None
    max_seq_length: int | None
    max_tokens_per_batch: int | None
    next_sentence: Literal["nsp", "sop", "none"] | None
    num_buckets: int
    num_epochs: int | None
    num_hosts: int
    pool_batches: int
    remote_cache_bytes: int
    rows_multiple: int
    seed: int
    shuffle_buffer: int
    skip_corrupt: bool
    start_batch: int
    vocab_file: Path | None
    vocab_size: int | None
    width: str | tuple[int, ...]

class IterateArraysOptions(TypedDict, total=False):
    drop_remainder: bool
    feature_names: Literal["google", "tfhub"]
    form: Literal["features", "supervised", "fit"]
    host_index: int
    max_predictions_per_seq: int | None
    max_seq_length: int | None
    max_tokens_per_batch: int | None
    next_sentence: Literal["nsp", "sop", "none"] | None
    num_buckets: int
    num_epochs: int | None
    num_hosts: int
    pool_batches: int
    remote_cache_bytes: int
    rows_multiple: int
    seed: int
    shuffle_buffer: int
    skip_corrupt: bool
    start_batch: int
    vocab_file: Path | None
    vocab_size: int | None
    width: str | tuple[int, ...]

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

class CurateOptions(TypedDict, total=False):
    append_eod: bool
    bos_token: str | None
    count_words: bool
    date_field: str
    do_lower_case: bool | None
    document_end: Literal["file", "blank_line", "heading"] | None
    encoding_errors: Literal["strict", "replace", "ignore"]
    engine: Engine | Literal["local", "ray", "slurm"]
    eod_token: str | None
    input_format: str
    keep_fields: bool
    language: str
    ledger: Literal["rejected", "all"]
    level: Literal["document", "sentence"]
    license_field: str
    max_document_bytes: int
    max_memory_mb: int
    max_row_bytes: int | None
    on_error: Literal["strict", "skip"]
    output_format: Literal["auto", "lines", "jsonl", "parquet", "store"]
    prepend_bos: bool
    provenance: bool
    ray_address: str | None
    rows: Literal["documents", "lines", "wikitext"] | None
    shard_mb: float
    slurm_options: str
    source_field: str
    special_tokens_in_text: Literal["token", "text", "refuse"]
    split_sentences: bool
    store_rules: Literal["megatron", "curator"]
    strict_without: bool
    tasks_per_job: int
    templates_file: Path | None
    text_field: str
    text_template: str | None
    tokenizer_backend: Literal["auto", "wordpiece", "fastokens", "sentencepiece", "tokenizers"]
    tokenizer_file: Path | None
    url_field: str
    vocab_file: Path | None
    warn_share: float
    with_examples: bool
    without_documents: Path | None
    words: Literal["pieces", "spaces", "jieba"]
    work_dir: Path | None

class TrainClassifierOptions(TypedDict, total=False):
    buckets: int
    dimension: int
    document_end: Literal["file", "blank_line", "heading"] | None
    encoding_errors: Literal["strict", "replace", "ignore"]
    epochs: int
    held_out: float
    input_format: str
    keep_fields: bool
    label_field: str | None
    language: str
    learning_rate: float
    loss: Literal["softmax", "ova"]
    max_characters: int
    max_row_bytes: int | None
    min_characters: int
    min_count: int
    on_error: Literal["strict", "skip"]
    rows: Literal["documents", "lines", "wikitext"] | None
    seed: int
    templates_file: Path | None
    text_field: str
    text_template: str | None
    word_ngrams: int

class TrainOptions(TypedDict, total=False):
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    allow_other_vocabulary: bool
    batching: Literal["auto", "stream", "plain", "pools", "buckets", "packed"]
    best_metric: Literal["masked_lm_loss", "masked_lm_accuracy", "loss"]
    clip_norm: float
    continue_from: Path | None
    continue_with: Literal["steps", "moments", "weights"]
    drop_remainder: bool
    eval_every_steps: int | None
    feature_names: Literal["google", "tfhub"]
    form: Literal["features", "supervised", "fit"]
    host_index: int
    init_checkpoint: Path | None
    iterations_per_loop: int
    jit_compile: bool
    keep_checkpoints: int
    log_every_steps: int
    max_predictions_per_seq: int | None
    max_seq_length: int | None
    max_tokens_per_batch: int | None
    mixed_precision: Literal["none", "bfloat16", "float16"]
    next_sentence: Literal["nsp", "sop", "none"]
    num_accumulation_steps: int
    num_buckets: int
    num_epochs: int | None
    num_hosts: int
    num_schedule_steps: int | None
    optimizer: Literal["adamw", "lamb"]
    pool_batches: int
    random_seed: int
    remote_cache_bytes: int
    rows_multiple: int
    save_checkpoints_steps: int
    shuffle: bool
    shuffle_buffer: int
    skip_corrupt: bool
    start_batch: int
    use_older_checkpoint: bool
    vocab_file: Path | None
    weight_decay: float
    width: str | tuple[int, ...]

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
