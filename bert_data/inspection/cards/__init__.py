"""Cards of data sets: Croissant, Hugging Face's, and the European summary of training content."""
