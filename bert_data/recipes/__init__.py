"""A training run as a function: batches straight from token stores, by a recipe.

    recipe --run--> windows of sequences --planning--> batches --filling--> arrays

recipe.py           what a run reads, stage by stage; stage_masking.py
sequences/          the sequences of token stores, in the order of their epochs
dealing.py          which store each sequence comes from
stage_run.py        sequences and batches of a stage, before a token is read; packing.py
recipe_run.py       a recipe with its stores open, and its places in checkpoints
run_batches.py      arrays; window_filler.py, fill_kernels.py, sequence_masks.py
recipe_source.py    batches for tf.data
"""
