"""Building blocks of the steps for web texts: page furniture, personal data and pseudonyms."""
