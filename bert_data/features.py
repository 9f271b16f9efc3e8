"""The names of a record's features, spelled once, and the two layouts of records.

    ragged     input_ids [101 7592 102]          input_ids_splits_0 [0 1 2 3]   ...
    reference  input_ids [101 7592 102 0 0 ...]  (padded to max_seq_length)     ...

Both have Google's seven names. `reference` pads the sequence features to `max_seq_length` and the
prediction features to `max_predictions_per_seq`; `ragged` stores what is there, and the row splits
of the pieces into whole words.
"""

INPUT_IDS = "input_ids"
INPUT_IDS_SPLITS = "input_ids_splits_0"
INPUT_MASK = "input_mask"
MASKED_LM_IDS = "masked_lm_ids"
MASKED_LM_POSITIONS = "masked_lm_positions"
MASKED_LM_WEIGHTS = "masked_lm_weights"
NEXT_SENTENCE_LABELS = "next_sentence_labels"
SEGMENT_IDS = "segment_ids"

RAGGED = "ragged"
REFERENCE = "reference"
LAYOUTS = (RAGGED, REFERENCE)

COMPRESSIONS = ("none", "gzip")
