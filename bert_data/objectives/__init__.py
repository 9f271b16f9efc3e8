"""MLM/NSP instances from a token store: the reference's random numbers, pairs and masks."""
