"""Text to ids: the vocabulary, the fast exact tokenizer, the token store."""
