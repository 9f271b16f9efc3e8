"""A training run as a function: batches straight from token stores, by a recipe.

    recipe --run--> windows of sequences --planning--> batches --filling--> arrays

recipe.py       what a run reads, stage by stage
sources.py      the sequences of a store, in the order of its epochs; cutting.py, permutation.py
dealing.py      which store each sequence comes from
stage_run.py    sequences and batches of a stage, before a token is read; packing.py
run.py          a recipe with its stores open
batches.py      arrays; filling.py, spans.py: the kernels
recipe_source.py   batches for tf.data
saving.py       places of a run in checkpoints
definition.py   all of it in plain Python
"""
