"""The flags of training: Google's, and some more."""

from absl import flags

from bert_data.cli import masking_flags
from bert_data.objectives.next_sentence import OBJECTIVES
from bert_data.training.config import BertConfig

GROUPS = {  # what --help shows first
    "common": "bert_config_file input_file output_dir init_checkpoint do_train do_eval"
    " train_batch_size learning_rate num_train_steps num_warmup_steps max_seq_length"
    " max_predictions_per_seq save_checkpoints_steps eval_input_file eval_every_steps"
    " vocab_file tokenizer_file",
    "optimizer": "optimizer num_accumulation_steps weight_decay adam_beta1 adam_beta2 adam_epsilon"
    " clip_norm num_schedule_steps continue_from continue_with",
    "batches": "batching pool_batches num_buckets max_tokens_per_batch batch_width"
    " remote_cache_bytes dynamic_masking masked_lm_prob do_whole_word_mask masking"
    " max_ngram favor_shorter_ngrams next_sentence skip_corrupt",
    "devices": "distribution num_cpu_devices mixed_precision jit_compile use_tpu tpu_name tpu_zone"
    " gcp_project master num_tpu_cores iterations_per_loop",
}

flags.DEFINE_string(
    "bert_config_file",
    None,
    f"{BertConfig.describe_file()} A published size has the vocabulary of the records.",
    required=True,
)
flags.DEFINE_string(
    "input_file",
    None,
    "Records, as TFRecord or Parquet: files or patterns, separated by commas.",
    required=True,
)
flags.DEFINE_string(
    "output_dir", None, "Folder for checkpoints, curves and results.", required=True
)
flags.DEFINE_string(
    "init_checkpoint",
    None,
    "Initial weights: a released checkpoint, one of this program, or a folder of Hugging Face "
    "(model.safetensors). Ignored if --output_dir has a checkpoint.",
)
flags.DEFINE_integer(
    "max_seq_length", 128, "Length of the longest sequence in the records, in tokens."
)
flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "Maximum number of masked tokens of a sequence."
)
flags.DEFINE_bool("do_train", False, "Train.")
flags.DEFINE_bool("do_eval", False, "Evaluate the last checkpoint.")
flags.DEFINE_integer(
    "train_batch_size",
    32,
    "Examples per batch, over all devices. A training step reads --num_accumulation_steps of them.",
)
flags.DEFINE_integer(
    "num_accumulation_steps",
    1,
    "Batches per training step: their gradients are summed before the weights change, as if they"
    " were one large batch. Steps of the learning rate, of the log and of checkpoints are updates.",
)
flags.DEFINE_integer("eval_batch_size", 8, "Examples per evaluation step.")
flags.DEFINE_float("learning_rate", 5e-5, "Peak learning rate of the optimizer.")
flags.DEFINE_enum(
    "optimizer",
    "adamw",
    ["adamw", "lamb"],
    "adamw: Adam with decoupled weight decay and without bias correction, as Google's program has"
    " it. lamb: LAMB (You et al., 2020), for batches of thousands of examples.",
)
flags.DEFINE_float(
    "weight_decay",
    0.01,
    "Share of a weight that decays in a step, times the learning rate; biases and LayerNorm do not"
    " decay.",
)
flags.DEFINE_float("adam_beta1", 0.9, "Decay of the mean of gradients, below 1.")
flags.DEFINE_float("adam_beta2", 0.999, "Decay of the mean of squared gradients, below 1.")
flags.DEFINE_float("adam_epsilon", 1e-6, "Added to the root of the mean of squared gradients.")
flags.DEFINE_float(
    "clip_norm",
    1.0,
    "Largest norm of all gradients together; larger ones are scaled down to it. 0: any is allowed.",
)
flags.DEFINE_string(
    "continue_from",
    None,
    "Instead of --init_checkpoint: the --output_dir of another run of the same model, or one of its"
    " checkpoints, which this run continues in its own --output_dir, such as with longer sequences."
    " Ignored if --output_dir has a checkpoint.",
)
flags.DEFINE_enum(
    "continue_with",
    "steps",
    ["steps", "moments", "weights"],
    "What --continue_from takes over. steps: weights, the optimizer's moments and the number of"
    " steps done, so that the learning rate goes on where it was; --num_train_steps counts them,"
    " too. moments: weights and moments; steps count from 0, with a warm-up of their own. weights:"
    " these alone.",
)
flags.DEFINE_integer(
    "num_train_steps", 100000, "Number of training steps, including those before a restart."
)
flags.DEFINE_integer(
    "num_warmup_steps", 10000, "Number of steps in which the learning rate rises to its peak."
)
flags.DEFINE_integer(
    "num_schedule_steps",
    None,
    "The step at which the learning rate reaches 0, if it is later than --num_train_steps: a run"
    " that --continue_from continues needs a rate that is left to go on with.",
)
flags.DEFINE_integer("save_checkpoints_steps", 1000, "Number of steps between checkpoints.")
flags.DEFINE_integer(
    "iterations_per_loop", 1000, "Maximum number of steps in one call of TensorFlow."
)
flags.DEFINE_integer(
    "max_eval_steps", 100, "Maximum number of evaluation steps; evaluation also ends with the data."
)
flags.DEFINE_bool("use_tpu", False, "Train on a TPU.")
flags.DEFINE_string("tpu_name", None, "Name or grpc:// address of the Cloud TPU.")
flags.DEFINE_string("tpu_zone", None, "Zone of the Cloud TPU; by default, this machine's.")
flags.DEFINE_string("gcp_project", None, "Project of the Cloud TPU; by default, this machine's.")
flags.DEFINE_string("master", None, "Address of the TPU, if --tpu_name is not set.")
flags.DEFINE_integer("num_tpu_cores", 8, "Number of cores of the TPU.")

flags.DEFINE_enum(
    "distribution",
    "auto",
    ["auto", "one", "mirrored", "multi_worker", "tpu"],
    "Devices. one: a single device. mirrored: all GPUs of this machine. multi_worker:"
    " those of the machines in TF_CONFIG. tpu: a TPU. auto: whatever is available.",
)
flags.DEFINE_integer(
    "num_cpu_devices", 1, "Number of virtual devices of the CPU, to try mirrored without GPUs."
)
flags.DEFINE_enum(
    "mixed_precision",
    "none",
    ["none", "bfloat16", "float16"],
    "Precision of matrix products: bfloat16 for TPUs and recent GPUs; float16 with loss scaling.",
)
flags.DEFINE_bool("jit_compile", False, "Compile the training step with XLA.")
flags.DEFINE_enum(
    "batching",
    "auto",
    ["auto", "stream", "plain", "pools", "buckets", "packed"],
    "Which sequences share a batch. stream: successive ones, shuffled in a buffer. The others plan"
    " an epoch from the lengths of all sequences, so that shuffling is complete and a restart"
    " resumes at once. plain: any lengths together; pools: similar lengths, with almost no padding;"
    " buckets: a few widths, for XLA and TPUs; packed: several sequences per row, which do not"
    " attend to each other, so that a row has about --max_seq_length tokens. auto: buckets with"
    " --jit_compile and on TPUs, otherwise pools; stream for compressed files, for remote ones"
    " larger than --remote_cache_bytes, and for Parquet whose plan would keep more than 1 GB in"
    " memory.",
)
flags.DEFINE_integer(
    "remote_cache_bytes",
    4 << 30,
    "Maximum size of the local file that keeps records of remote TFRecord files, in the system's"
    " folder for temporary files (TMPDIR); at least 16777216. Files that fit are fetched once.",
)
flags.DEFINE_integer(
    "pool_batches", 64, "With pools: number of batches whose sequences are sorted together."
)
flags.DEFINE_integer(
    "num_buckets", 8, "With buckets: number of widths, chosen for the least padding."
)
flags.DEFINE_integer(
    "max_tokens_per_batch",
    None,
    "Bound batches by tokens, padding included, instead of --train_batch_size. Not for stream.",
)
flags.DEFINE_string(
    "batch_width",
    None,
    "Width of a batch. batch: its longest sequence (with buckets, the next of "
    "--num_buckets widths). max: --max_seq_length. Or ascending widths, such as "
    "64,96,128; packed takes one, at least --max_seq_length. XLA and TPUs compile "
    "once per width, so there the default is max for stream and plain; elsewhere it "
    "is batch.",
)
flags.DEFINE_string("vocab_file", None, "Check that the records were made with this vocabulary.")
flags.DEFINE_string("tokenizer_file", None, "The same for a tokenizer.json.")
flags.DEFINE_bool(
    "dynamic_masking",
    False,
    "Choose new tokens to predict in each epoch, whatever the records predict, so "
    "that one copy of the text on disk is enough (--dupe_factor=1, perhaps with "
    "--max_predictions_per_seq=0). Needs --vocab_file or --tokenizer_file, and "
    "files that are Parquet or not compressed. Evaluation makes the same choice each "
    "time.",
)
flags.DEFINE_float("masked_lm_prob", 0.15, "With --dynamic_masking: share of tokens to predict.")
flags.DEFINE_bool(
    "do_whole_word_mask", False, "With --dynamic_masking: mask all pieces of a word together."
)
masking_flags.define_masking_flags()
flags.DEFINE_enum(
    "next_sentence",
    None,
    list(OBJECTIVES),
    "What the records were made with, see create_pretraining_data.py; by default, what their"
    " manifest says, or nsp.",
)
flags.DEFINE_string(
    "eval_input_file",
    None,
    "Held-out records for --do_eval and --eval_every_steps; --do_eval alone reads those of"
    " --input_file by default.",
)
flags.DEFINE_integer(
    "eval_every_steps",
    None,
    "While training, evaluate on --eval_input_file every so many steps and after the last one, and"
    " keep the best checkpoint in the folder best of --output_dir.",
)
flags.DEFINE_enum(
    "best_metric",
    "masked_lm_loss",
    ["masked_lm_loss", "masked_lm_accuracy", "loss"],
    "Which result of --eval_every_steps decides what is best.",
)
flags.DEFINE_bool("skip_corrupt", False, "Skip damaged records with a warning.")
flags.DEFINE_integer(
    "random_seed", 12345, "Seed of initial weights, dropout and the order of records."
)
flags.DEFINE_integer("keep_checkpoints", 5, "Number of checkpoints to keep.")
flags.DEFINE_bool(
    "allow_other_vocabulary",
    False,
    "Train or evaluate a model on records of another vocabulary than the one that it was trained"
    " with.",
)
flags.DEFINE_bool(
    "use_older_checkpoint",
    False,
    "If the last checkpoint in --output_dir is damaged, continue from (or evaluate) the last one"
    " before it that is whole.",
)
flags.DEFINE_integer(
    "log_every_steps",
    100,
    "Number of steps between two lines of the log, of metrics.jsonl in --output_dir, and two points"
    " of TensorBoard's curves.",
)
