"""Files in, blocks of whole lines out."""
