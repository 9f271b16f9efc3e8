"""Examples made of rows of Parquet, for the reader."""
