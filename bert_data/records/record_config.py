"""How records are written: the format of the files, the layout, the compression."""

import dataclasses

from bert_data import features


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordConfig:
    """How records are written.

    Attributes:
      output_format: one of `features.OUTPUT_FORMATS`.
      record_layout: one of `features.LAYOUTS`; rows of Parquet are never padded.
      compression: one of `features.COMPRESSIONS`, of TFRecord files; Parquet has its own.
      max_seq_length, max_predictions_per_seq: of the instances; `reference` records are padded to
        them.
    """

    output_format: str = features.TFRECORD
    record_layout: str = features.RAGGED
    compression: str = "none"
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20

    def __post_init__(self) -> None:
        for field, allowed in (
            ("output_format", features.OUTPUT_FORMATS),
            ("record_layout", features.LAYOUTS),
            ("compression", features.COMPRESSIONS),
        ):
            value = getattr(self, field)
            if value not in allowed:
                raise ValueError(f"{field} is {value!r}; {' or '.join(allowed)} is allowed")
        if self.output_format != features.PARQUET:
            return
        for field, only, why in (
            ("record_layout", features.RAGGED, "its rows are never padded"),
            ("compression", "none", f"it is compressed inside, by {features.ZSTD}"),
        ):
            value = getattr(self, field)
            if value != only:
                raise ValueError(
                    f"{field} is {value!r}; with output_format {self.output_format!r} {only!r} is"
                    f" allowed: {why}"
                )


def check_ending(output_file: str, output_format: str) -> None:
    """Refuses files of another format that would be named as Parquet's.

    Args:
      output_file: names, comma-separated, see `bert_data.storage`.
      output_format: one of `features.OUTPUT_FORMATS`.

    Raises:
      ValueError: there is one.
    """
    for entry in output_file.split(","):
        if entry.partition("@")[0].endswith(".parquet") and output_format != features.PARQUET:
            raise ValueError(
                f"output {entry!r} would hold {output_format}; give output_format"
                f" {features.PARQUET!r}, or another ending"
            )
