"""The words by which settings and manifests name what records are."""

NSP, SOP, NONE = OBJECTIVE_NAMES = ("nsp", "sop", "none")
"""What is asked of two segments, see `objectives.py`."""

DEFAULT = NSP
"""The reference's, where nothing says another."""

GOOGLE_NAMES, V2_NAMES = FEATURE_NAMES = ("google", "v2")
"""Names of an Example's features: google-research/bert's, or the ones that TensorFlow Model Garden
writes and reads with use_v2_feature_names."""

RAGGED, REFERENCE = LAYOUTS = ("ragged", "reference")
"""The layouts of records of masked language modelling: as long as they are, or padded."""

LABEL, TEXTS = "label", ("text", "text_b")
"""Names of a labelled text's features, by default; records of pairs have the second text, too."""

TOKENS, NGRAMS, SPANS = MASKING_NAMES = ("tokens", "ngrams", "spans")
"""How tokens to predict are chosen, see `masking/`."""

MIN_SEQ_LENGTH = 5  # [CLS] a [SEP] b [SEP]
MAX_SEQ_LENGTH = (1 << 16) - 1  # lengths of A and B share a word of a row
