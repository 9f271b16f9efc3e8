"""Building blocks of the quality rules: languages, n-grams, phrases, percentiles."""
